// Rule: host memory that an operation took is not the host's.
// Instead: keep what the call returns, and wait for it.
//~ E0382
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, DeviceContext, Error, HostBuffer};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    let flight = dev.enqueue_copy_from(host)?;
    println!("{}", host[0]);
    ctx.synchronize(flight)?;
    Ok(())
}

fn main() {}
