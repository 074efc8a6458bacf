// Rule: a pointer to host memory is not a pointer of a device.
// Instead: copy the host buffer to the device, and pass that.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceContext, Error, HostBuffer, TrustedPtr};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    unsafe fn scale(factor: f32, data: TrustedPtr<f32>, n: u32);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, host: &HostBuffer<f32>) -> Result<(), Error> {
    unsafe { kernels.scale(ctx, (1, 8), 2.0, host.unsafe_ptr(), 8) }?;
    Ok(())
}

fn main() {}
