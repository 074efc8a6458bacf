// Rule: a tag of your own does not open the trait for types of the library.
// Instead: the stream that has the value hands it off.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, DeviceContext, DeviceSpan, Handoff, HostBuffer, HostSpan, SharedDeviceBuffer, StreamTag};

escrow::streams! { Tag, Other }

macro_rules! forge {
    ($ty:ty) => {
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

impl Handoff<Tag> for DeviceBuffer<f32, Other> { //~ E0277
    forge!(Self);
}
impl Handoff<Tag> for HostBuffer<f32, Tag> { //~ E0277
    forge!(Self);
}
// Sealed for a sibling, `Flight`.
impl Handoff<Tag> for () { //~ E0277
    forge!(Self);
}
impl Handoff<Tag> for Vec<Tag> { //~ E0277
    forge!(Self);
}
// What other streams read, and what is borrowed.
impl Handoff<Tag> for SharedDeviceBuffer<f32, Tag> { //~ E0277
    forge!(Self);
}
impl Handoff<Tag> for DeviceSpan<'_, f32, Tag> { //~ E0277
    forge!(Self);
}
impl Handoff<Tag> for HostSpan<'_, f32, Tag> { //~ E0277
    forge!(Self);
}
impl Handoff<Tag> for &DeviceBuffer<f32, Tag> { //~ E0277
    forge!(Self);
}

fn main() {}
