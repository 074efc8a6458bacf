// Rule: a taken pointer is the only way to its memory.
// Instead: keep it and give it back with `from_ptr`, or just drop the buffer.
//~ -
//~ right: pass/ownership.rs
#![deny(unused_must_use)]
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    dev.take_ptr();
}

fn main() {}
