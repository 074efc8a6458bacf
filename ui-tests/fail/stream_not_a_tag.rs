// Rule: the second parameter of a buffer is a stream tag.
// Instead: declare it, `escrow::streams! { Upload }`.
//~ E0277
//~ right: pass/streams.rs
use escrow::DeviceBuffer;

struct Upload;

fn user(_dev: DeviceBuffer<f32, Upload>) {}

fn main() {}
