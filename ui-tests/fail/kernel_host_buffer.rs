// Rule: a kernel works on device memory.
// Instead: copy the host buffer to the device first.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceContext, Error, HostBuffer};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, mut host: HostBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, &mut host)?;
    Ok(())
}

fn main() {}
