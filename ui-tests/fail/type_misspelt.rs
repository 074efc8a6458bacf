// Rule: a method has one name.
// Instead: what the compiler offers.
//~ E0599
//~ right: pass/types.rs
use escrow::{Error, HostBuffer};

fn user(host: HostBuffer<f32>) -> Result<(), Error> {
    let flight = host.enqueue_fil(1.0)?;
    Ok(())
}

fn main() {}
