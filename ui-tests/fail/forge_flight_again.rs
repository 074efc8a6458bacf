// Rule: how the library's own values land is settled.
// Instead: nothing; they already do.
//~ E0119
//~ right: pass/flight.rs
use escrow::{DeviceContext, Flight, HostBuffer, InFlight};

escrow::streams! { Tag }

impl Flight<Tag> for InFlight<HostBuffer<f32, Tag>> { //~ E0119
    type Landed = HostBuffer<u64, Tag>;
    fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn land(self) -> HostBuffer<u64, Tag> {
        loop {}
    }
}

impl Flight<Tag> for () { //~ E0119
    type Landed = HostBuffer<u64, Tag>;
    fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn land(self) -> HostBuffer<u64, Tag> {
        loop {}
    }
}

fn main() {}
