// Rule: `DeviceContext::new` makes a stream without a name.
// Instead: `DeviceContext::tagged(Upload, device)`.
//~ E0308
//~ right: pass/streams.rs
use escrow::{Device, DeviceContext, Error};

escrow::streams! { Upload }

fn user() -> Result<(), Error> {
    let up: DeviceContext<Upload> = DeviceContext::new(Device::cpu())?;
    Ok(())
}

fn main() {}
