// Rule: a container hands off what its elements are, and nothing else.
// Instead: put device buffers and `InFlight` values into it.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceContext, Handoff, HostBuffer, StreamTag};

escrow::streams! { Tag }

macro_rules! forge {
    () => {
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
    };
}

impl Handoff<Tag> for Option<HostBuffer<f32, Tag>> { //~ E0277
    forge!();
}
impl Handoff<Tag> for Vec<HostBuffer<f32, Tag>> { //~ E0277
    forge!();
}
impl Handoff<Tag> for [HostBuffer<f32, Tag>; 1] { //~ E0277
    forge!();
}
// Sealed for a sibling, `Flight`.
impl Handoff<Tag> for Option<()> { //~ E0277
    forge!();
}
impl Handoff<Tag> for ((),) { //~ E0277
    forge!();
}

fn main() {}
