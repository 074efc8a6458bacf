// Rule: a buffer is not dropped while a span of it lives.
// Instead: let the span end first.
//~ E0505
//~ right: pass/spans.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    let span = dev.as_span();
    drop(dev);
    println!("{}", span.len());
}

fn main() {}
