// Rule: how the library's own values change streams is settled.
// Instead: nothing; they already do.
//~ E0119
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, DeviceContext, Handoff, HostBuffer, StreamTag};

escrow::streams! { Tag }

impl Handoff<Tag> for DeviceBuffer<f32, Tag> { //~ E0119
    type To<S2: StreamTag> = HostBuffer<f32, S2>;
    fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn retag<S2: StreamTag>(self, _: &DeviceContext<S2>) -> Self::To<S2> {
        loop {}
    }
}

fn main() {}
