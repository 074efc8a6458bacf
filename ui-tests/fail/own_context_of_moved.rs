// Rule: a buffer's own context is borrowed from the buffer, so the buffer cannot move into its operation.
// Instead: use the context that you made, or `host.context().clone()`.
//~ E0505
//~ right: pass/ownership.rs
use escrow::{Error, HostBuffer};

fn user(host: HostBuffer<f32>) -> Result<(), Error> {
    let (_dev, _flight) = host.context().enqueue_create_buffer_from(host)?;
    Ok(())
}

fn main() {}
