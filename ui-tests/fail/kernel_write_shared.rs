// Rule: a kernel does not write shared memory.
// Instead: `try_unshare` it first.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceContext, Error, SharedDeviceBuffer};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, mut shared: SharedDeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, &mut shared)?;
    Ok(())
}

fn main() {}
