// Rule: a kernel works on device memory, not on host memory that a stream uses.
// Instead: pass the device buffer that it is copied to.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, mut host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, &mut host)?;
    Ok(())
}

fn main() {}
