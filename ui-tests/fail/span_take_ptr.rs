// Rule: a pointer is not taken while a span of the buffer lives.
// Instead: let the span end first.
//~ E0505
//~ right: pass/spans.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    let span = dev.as_span();
    let ptr = dev.take_ptr();
    println!("{} {ptr:?}", span.len());
}

fn main() {}
