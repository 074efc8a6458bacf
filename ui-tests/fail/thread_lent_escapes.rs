// Rule: lent memory does not go to a thread that may outlive the scope.
// Instead: enqueue from this thread; the stream runs beside it anyway.
//~ E0521
//~ right: pass/threads.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext, values: &[f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        let span = s.lend(values);
        std::thread::spawn(move || println!("{span:?}"));
        Ok(())
    })
}

fn main() {}
