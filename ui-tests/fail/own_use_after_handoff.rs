// Rule: after a handoff the buffer is the other stream's, under the value that `handoff` returned.
// Instead: shadow it, `let dev = up.handoff(dev, &compute)?;`.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(
    up: &DeviceContext<Upload>,
    compute: &DeviceContext<Compute>,
    mut dev: DeviceBuffer<f32, Upload>,
) -> Result<(), Error> {
    let there = up.handoff(dev, compute)?;
    dev.enqueue_fill(0.0)?;
    drop(there);
    Ok(())
}

fn main() {}
