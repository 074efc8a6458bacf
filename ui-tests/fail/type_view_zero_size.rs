// Rule: memory is not seen as elements without a size.
// Instead: an array of at least one element.
//~ E0080
//~ right: pass/types.rs
use escrow::{Device, DeviceContext, Error};

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let host = ctx.create_host_buffer::<f32>(8)?;
    let nothing = host.view::<[u8; 0]>()?;
    println!("{}", nothing.len());
    Ok(())
}
