// Rule: a pointer does not say whether its memory is still there: reading through it is `unsafe`.
// Instead: read the buffer, or take it back with `HostBuffer::from_ptr`.
//~ E0133
//~ right: pass/ownership.rs
use escrow::HostBuffer;

fn user(host: HostBuffer<f32>) -> f32 {
    let ptr = host.unsafe_ptr();
    drop(host);
    *ptr.as_ptr()
}

fn main() {}
