// Rule: a tag of your own does not open the trait for types of the library.
// Instead: `handoff` the value to the stream that waits.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, DeviceContext, Flight, HostBuffer, InFlight, Recorded};

escrow::streams! { Tag, Other }

macro_rules! forge {
    ($ty:ty) => {
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

impl Flight<Tag> for InFlight<HostBuffer<f32, Other>> { //~ E0277
    forge!(Self);
}
impl Flight<Tag> for HostBuffer<f32, Tag> { //~ E0277
    forge!(Self);
}
// Sealed for a sibling, `Handoff`.
impl Flight<Tag> for DeviceBuffer<f32, Tag> { //~ E0277
    forge!(Self);
}
impl Flight<Tag> for Vec<Tag> { //~ E0277
    forge!(Self);
}
impl Flight<Tag> for Box<InFlight<HostBuffer<f32, Tag>>> { //~ E0277
    forge!(Self);
}
impl Flight<Tag> for Recorded<InFlight<HostBuffer<f32, Tag>>, Tag> { //~ E0277
    forge!(Self);
}

fn main() {}
