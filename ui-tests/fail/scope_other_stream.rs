// Rule: lent memory is for the scope's own stream.
// Instead: open the scope on the stream of the buffer.
//~ E0277
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(up: &DeviceContext<Upload>, dev: &mut DeviceBuffer<f32, Compute>, values: &[f32]) -> Result<(), Error> {
    up.scope(|s| {
        dev.enqueue_copy_from(s.lend(values))?;
        Ok(())
    })
}

fn main() {}
