// Rule: the buffers of a launch are of the launching stream.
// Instead: `handoff` the buffer first, or launch on its stream.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, compute: &DeviceContext<Compute>, dev: &mut DeviceBuffer<f32, Upload>) -> Result<(), Error> {
    kernels.scale(compute, 2.0, dev)?;
    Ok(())
}

fn main() {}
