// Rule: host memory that is not in flight needs no handoff.
// Instead: use it on any stream; `reassign_ownership_to` changes its tag.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceContext, Error, HostBuffer};

escrow::streams! { Upload, Compute }

fn user(
    up: &DeviceContext<Upload>,
    compute: &DeviceContext<Compute>,
    host: HostBuffer<f32, Upload>,
) -> Result<(), Error> {
    let host = up.handoff(host, compute)?;
    Ok(())
}

fn main() {}
