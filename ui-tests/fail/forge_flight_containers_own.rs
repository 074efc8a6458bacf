// Rule: a container of your own type does not land.
// Instead: put `InFlight` values into it.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceContext, Flight};

escrow::streams! { Tag }

struct Mine;

macro_rules! forge {
    () => {
        type Landed = ();
        fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
            true
        }
        fn is_idle(&self) -> bool {
            true
        }
        unsafe fn land(self) {}
    };
}

impl Flight<Tag> for Option<Mine> { //~ E0277
    forge!();
}
impl Flight<Tag> for Vec<Mine> { //~ E0277
    forge!();
}
impl Flight<Tag> for [Mine; 2] { //~ E0277
    forge!();
}
impl Flight<Tag> for (Mine, ()) { //~ E0277
    forge!();
}

fn main() {}
