// Rule: what was borrowed for reading is not written through its slice.
// Instead: take `&mut HostBuffer`, and `as_span_mut()`.
//~ E0594
//~ right: pass/spans.rs
use escrow::HostBuffer;

fn user(host: &HostBuffer<f32>) {
    let head = host.as_span();
    head[0] = 1.0;
}

fn main() {}
