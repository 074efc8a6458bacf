// Rule: nobody else says what a copy can read.
// Instead: copy into a `HostBuffer`, or lend a slice in a `scope`.
//~ E0046 E0277
//~ right: pass/scope.rs
use escrow::{CopySrc, DeviceContext, StreamTag};

escrow::streams! { Tag }

struct Mine([f32; 4]);

macro_rules! forge {
    ($ty:ty) => {
        type Elem = f32;
        type Tag = Tag;
        type Out<S: StreamTag> = ();
        type With<R, S: StreamTag> = R;
        fn settle<S: StreamTag>(self, _: &DeviceContext<S>, _: bool) {}
        fn with<R, S: StreamTag>(receiver: R, _: ()) -> R {
            receiver
        }
    };
}

impl CopySrc for Mine { //~ E0277
    forge!(Self);
}
impl CopySrc for &Mine { //~ E0277
    forge!(Self);
}
impl CopySrc for Tag { //~ E0277
    forge!(Self);
}

fn main() {}
