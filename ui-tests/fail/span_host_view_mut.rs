// Rule: host memory is not written through two views at a time.
// Instead: let the first view end, or split a slice with `split_at_mut`.
//~ E0499
//~ right: pass/spans.rs
use escrow::{Error, HostBuffer};

fn user(mut host: HostBuffer<f32>) -> Result<(), Error> {
    let bytes = host.view_mut::<u8>()?;
    host[0] = 1.0;
    bytes[0] = 2;
    Ok(())
}

fn main() {}
