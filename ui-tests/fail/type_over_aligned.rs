// Rule: elements are aligned to at most 16 bytes.
// Instead: leave the alignment out, or wrap an array of bytes.
//~ E0080
//~ right: pass/types.rs
use bytemuck::{Pod, Zeroable};
use escrow::{Device, DeviceContext, Error, PodElement};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(32))]
struct Line([u8; 32]);

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let lines = ctx.create_host_buffer::<PodElement<Line>>(8)?;
    drop(lines);
    Ok(())
}
