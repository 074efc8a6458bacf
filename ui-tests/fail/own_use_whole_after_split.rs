// Rule: a buffer that was split into owned pieces is gone.
// Instead: use the pieces, and `HostBuffer::rejoin` them.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{Error, HostBuffer};

fn user(host: HostBuffer<f32>) -> Result<(), Error> {
    let (low, high) = host.into_split_at(4)?;
    println!("{} {} {}", low[0], high[0], host[0]);
    Ok(())
}

fn main() {}
