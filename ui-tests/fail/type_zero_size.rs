// Rule: elements have a size.
// Instead: an array of at least one element.
//~ E0080
//~ right: pass/types.rs
use escrow::{Device, DeviceContext, Error};

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let nothing = ctx.create_host_buffer::<[f32; 0]>(8)?;
    drop(nothing);
    Ok(())
}
