// Rule: a handoff moves what the library knows, and nothing else.
// Instead: put buffers into tuples, arrays, `Vec`s and `Option`s.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, DeviceContext, Handoff, StreamTag};

escrow::streams! { Tag }

struct Mine(DeviceBuffer<f32, Tag>);

impl Handoff<Tag> for Mine { //~ E0277
    type To<S2: StreamTag> = DeviceBuffer<f32, S2>;
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

impl<S: StreamTag> Handoff<S> for Tag { //~ E0277
    type To<S2: StreamTag> = ();
    fn is_on(&self, _: &DeviceContext<S>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn retag<S2: StreamTag>(self, _: &DeviceContext<S2>) {}
}

fn main() {}
