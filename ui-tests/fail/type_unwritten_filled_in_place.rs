// Rule: filling memory that nothing has written gives it back as written.
// Instead: `let dev = raw.enqueue_fill(1.0)?;`.
//~ E0382
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<Vec<f32>, Error> {
    let raw = ctx.enqueue_create_buffer::<f32>(8)?;
    let dev = raw.enqueue_fill(1.0)?;
    println!("{}", raw.len());
    dev.to_vec()
}

fn main() {}
