// Rule: memory in flight goes into one operation at a time.
// Instead: chain them, `let host = first.enqueue_copy_from(host)?; let host = second.enqueue_copy_from(host)?;`.
//~ E0382
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error, HostBuffer, InFlight};

fn user(
    first: &mut DeviceBuffer<f32>,
    second: &mut DeviceBuffer<f32>,
    host: InFlight<HostBuffer<f32>>,
) -> Result<(), Error> {
    first.enqueue_copy_from(host)?.synchronize()?;
    second.enqueue_copy_from(host)?.synchronize()?;
    Ok(())
}

fn main() {}
