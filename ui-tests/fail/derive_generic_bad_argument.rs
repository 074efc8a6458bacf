// Rule: a generic element is one only for elements.
// Instead: `Pair<Bool8>`.
//~ E0277
//~ right: pass/elements.rs
use escrow::{DType, DeviceContext, Error};

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Pair<T> {
    first: T,
    second: T,
}

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let pairs = ctx.create_host_buffer::<Pair<bool>>(8)?;
    Ok(())
}

fn main() {}
