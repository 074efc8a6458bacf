// Rule: in code that is generic over two tags, their buffers do not meet.
// Instead: use one tag parameter for both, or `handoff` in between.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, Error, StreamTag};

fn user<A: StreamTag, B: StreamTag>(
    src: &DeviceBuffer<f32, A>,
    dst: &mut DeviceBuffer<f32, B>,
) -> Result<(), Error> {
    src.enqueue_copy_to(dst)?;
    Ok(())
}

fn main() {}
