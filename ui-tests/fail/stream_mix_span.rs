// Rule: spans have the stream of their buffer.
// Instead: `handoff` the buffer first.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceSpan, DeviceSpanMut, Error};

escrow::streams! { Upload, Compute }

fn user(src: DeviceSpan<'_, f32, Upload>, mut dst: DeviceSpanMut<'_, f32, Compute>) -> Result<(), Error> {
    dst.enqueue_copy_from(src)?;
    Ok(())
}

fn main() {}
