// Rule: a buffer in a field cannot be handed off out of a borrowed struct.
// Instead: `self.weights.on(&compute, |weights| ...)`, or `mem::replace` it by `DeviceBuffer::empty(&ctx)`.
//~ E0507
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

struct Model {
    weights: DeviceBuffer<f32, Upload>,
}

impl Model {
    fn step(&mut self, up: &DeviceContext<Upload>, compute: &DeviceContext<Compute>) -> Result<(), Error> {
        let _weights = up.handoff(self.weights, compute)?;
        Ok(())
    }
}

fn main() {}
