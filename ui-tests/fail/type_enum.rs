// Rule: an enum is not an element: a device could write a number that is no variant.
// Instead: keep the number in a struct, and turn it into the enum on the host.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

#[derive(Clone, Copy)]
#[repr(u8)]
enum Cell {
    Free,
    Wall,
}

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let grid = ctx.create_host_buffer_from(&[Cell::Free, Cell::Wall])?;
    Ok(())
}

fn main() {}
