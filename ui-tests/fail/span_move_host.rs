// Rule: a host buffer does not go to a stream while the host reads a slice of it.
// Instead: finish with the slice first.
//~ E0505
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    let slice = host.as_span();
    let flight = dev.enqueue_copy_from(host)?;
    println!("{} {}", slice[0], flight.len());
    Ok(())
}

fn main() {}
