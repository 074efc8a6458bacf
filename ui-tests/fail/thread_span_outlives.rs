// Rule: a thread that may outlive the buffer does not get a span of it.
// Instead: move the buffer in, or use `std::thread::scope`.
//~ E0597
//~ right: pass/threads.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
    let span = dev.as_span();
    std::thread::spawn(move || println!("{}", span.len()));
    Ok(())
}

fn main() {}
