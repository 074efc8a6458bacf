// Rule: the host does not write device memory.
// Instead: `enqueue_fill`, a copy, or `copy_from_slice`.
//~ E0277
//~ right: pass/types.rs
use escrow::DeviceBuffer;

fn user(mut dev: DeviceBuffer<f32>) {
    dev[0] = 1.0;
}

fn main() {}
