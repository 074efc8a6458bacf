// Rule: `split_at` of a host buffer is that of a slice and borrows; a borrowed half cannot go into a copy.
// Instead: `into_split_at` or `into_chunks` make halves that own their memory.
//~ E0277
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    let (low, high) = host.split_at(4);
    dev.enqueue_copy_from(low)?;
    Ok(())
}

fn main() {}
