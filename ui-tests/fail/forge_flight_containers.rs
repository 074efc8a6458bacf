// Rule: a container lands what its elements are, and nothing else.
// Instead: put `InFlight` values into it.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, DeviceContext, Flight, HostBuffer};

escrow::streams! { Tag }

macro_rules! forge {
    ($landed:ty) => {
        type Landed = $landed;
        fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
            true
        }
        fn is_idle(&self) -> bool {
            true
        }
        unsafe fn land(self) -> $landed {
            loop {}
        }
    };
}

// Sealed for a sibling, `Handoff`.
impl Flight<Tag> for Option<DeviceBuffer<f32, Tag>> { //~ E0277
    forge!(HostBuffer<f32, Tag>);
}
impl Flight<Tag> for Vec<DeviceBuffer<f32, Tag>> { //~ E0277
    forge!(HostBuffer<f32, Tag>);
}
impl Flight<Tag> for [DeviceBuffer<f32, Tag>; 1] { //~ E0277
    forge!(HostBuffer<f32, Tag>);
}
impl Flight<Tag> for (DeviceBuffer<f32, Tag>,) { //~ E0277
    forge!(HostBuffer<f32, Tag>);
}

fn main() {}
