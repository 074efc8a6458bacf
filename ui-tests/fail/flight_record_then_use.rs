// Rule: values whose end was recorded do not go into further operations.
// Instead: `wait` for them first, or record after the last operation.
//~ E0382
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, DeviceContext, Error, HostBuffer, InFlight};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>, host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    let recorded = ctx.record(host)?;
    let host = dev.enqueue_copy_from(host)?;
    drop((recorded, host));
    Ok(())
}

fn main() {}
