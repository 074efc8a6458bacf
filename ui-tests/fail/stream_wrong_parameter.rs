// Rule: a function for buffers of one stream does not take those of another.
// Instead: `handoff` the buffer, or make the function generic over `S: StreamTag`.
//~ E0308
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, Error};

escrow::streams! { Upload, Compute }

fn clear(dev: &mut DeviceBuffer<f32, Compute>) -> Result<(), Error> {
    dev.enqueue_fill(0.0)
}

fn user(dev: &mut DeviceBuffer<f32, Upload>) -> Result<(), Error> {
    clear(dev)
}

fn main() {}
