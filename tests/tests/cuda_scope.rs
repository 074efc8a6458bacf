//! Memory lent to a GPU's stream: when it is copied, and what becomes of it when a wait fails.
#![cfg(feature = "cuda")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow::{DeviceBuffer, DeviceContext, Error};
use escrow_tests::{fake, gpu};

const MIB: usize = 1 << 20;

fn context() -> Option<DeviceContext> {
    gpu().map(|gpu| DeviceContext::new(gpu).expect("a stream"))
}

fn filled(ctx: &DeviceContext, len: usize, value: u8) -> Result<DeviceBuffer<u8>, Error> {
    Ok(ctx.enqueue_create_buffer::<u8>(len)?.enqueue_fill(value)?)
}

/// Driver calls that wait, so far.
fn waits() -> u64 {
    ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"].iter().map(|name| fake::calls(name)).sum()
}

/// Broken on purpose: `Landings::end` that does nothing.
#[test]
fn small_downloads_wait_for_the_end_of_the_scope() -> Result<(), Error> {
    const TEST: &str = "small_downloads_wait_for_the_end_of_the_scope";
    // Alone, since the calls of all tests are counted together.
    let Some(()) = fake::alone(TEST, &[]) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    let mut dev = filled(&ctx, 1000, 3)?;
    let (mut first, mut second, mut third) = ([0; 1000], [0; 1000], [0; 10]);
    let pinned = ctx.create_host_buffer_from(&[9u8; 10])?;
    let before = waits();
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut first))?;
        dev.enqueue_fill(4)?;
        dev.enqueue_copy_to(s.lend_mut(&mut second))?;
        drop(pinned.enqueue_copy_to(s.lend_mut(&mut third))?);
        assert_eq!(waits(), before, "nothing waits inside");
        Ok(())
    })?;
    assert_eq!(waits(), before + 1, "the scope waits once");
    assert_eq!((first, second, third), ([3; 1000], [4; 1000], [9; 10]));

    // One wait each for those that block.
    let (before, records) = (waits(), fake::calls("cuEventRecord"));
    dev.copy_to_slice(&mut first)?;
    assert_eq!(dev.to_vec()?, [4; 1000]);
    assert_eq!(first, [4; 1000]);
    assert_eq!((waits(), fake::calls("cuEventRecord")), (before + 2, records));
    Ok(())
}

/// What the staging blocks hold is all that waits; the rest is waited for in the call, as is what is larger than one.
#[test]
fn more_than_the_staging_blocks_hold() -> Result<(), Error> {
    const TEST: &str = "more_than_the_staging_blocks_hold";
    let Some(()) = fake::alone(TEST, &[]) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    let dev = filled(&ctx, 8 * MIB, 5)?;
    let mut outputs = vec![vec![0u8; 8 * MIB]; 5];
    let before = waits();
    ctx.scope(|s| {
        for (nth, output) in outputs.iter_mut().enumerate() {
            dev.enqueue_copy_to(s.lend_mut(output))?;
            assert_eq!(waits() - before, u64::from(nth == 4), "{nth}");
        }
        Ok(())
    })?;
    assert!(outputs.iter().flatten().all(|it| *it == 5));

    // Behind the scope there is room again.
    let before = waits();
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut outputs[0]))?;
        assert_eq!(waits(), before);
        Ok(())
    })?;
    let larger = filled(&ctx, 8 * MIB + 1, 6)?;
    let mut output = vec![0u8; 8 * MIB + 1];
    let before = waits();
    ctx.scope(|s| {
        larger.enqueue_copy_to(s.lend_mut(&mut output))?;
        assert!(waits() > before);
        Ok(())
    })?;
    assert!(output.iter().all(|it| *it == 6));
    Ok(())
}

#[test]
fn downloads_arrive_also_when_the_scope_fails_or_panics() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let dev = filled(&ctx, 100, 7)?;
    let mut output = [0u8; 100];
    let failed: Result<(), Error> = ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut output))?;
        Err(Error::EmptyChunk)
    });
    assert!(matches!(failed, Err(Error::EmptyChunk)));
    assert_eq!(output, [7; 100]);

    let mut output = [0u8; 100];
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        ctx.scope(|s| -> Result<(), Error> {
            dev.enqueue_copy_to(s.lend_mut(&mut output))?;
            std::panic::resume_unwind(Box::new(()));
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(output, [7; 100]);
    Ok(())
}

/// Scopes inside of scopes, and on other threads, each bring their own.
#[test]
fn scopes_share_a_stream() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let dev = filled(&ctx, 100, 8)?;
    let (mut outer, mut inner) = ([0u8; 100], [0u8; 100]);
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut outer))?;
        ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut inner))?))?;
        assert_eq!(inner, [8; 100]);
        Ok(())
    })?;
    assert_eq!(outer, [8; 100]);

    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..50 {
                    let mut output = [0u8; 100];
                    ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?)).expect("a copy");
                    assert_eq!(output, [8; 100]);
                }
            });
        }
    });

    // Lent by one scope, and enqueued by several threads.
    let mut parts = [[0u8; 100]; 4];
    ctx.scope(|s| {
        std::thread::scope(|threads| {
            for part in &mut parts {
                threads.spawn(|| dev.enqueue_copy_to(s.lend_mut(part)).expect("a copy"));
            }
        });
        Ok(())
    })?;
    assert_eq!(parts, [[8; 100]; 4]);
    Ok(())
}

/// A wait that fails proves nothing: the lent memory stays as it is, and the blocks that the stream may go on writing are
/// nobody else's until a wait succeeded.
///
/// Broken on purpose: `Landings::give_up` that drops the blocks gives one of them to the buffer below.
#[test]
fn a_failed_wait_keeps_the_staging_blocks() -> Result<(), Error> {
    const TEST: &str = "a_failed_wait_keeps_the_staging_blocks";
    let Some(()) = fake::alone(TEST, &[("FAKE_CUDA_FAIL", "cuStreamSynchronize:1:700")]) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    let dev = filled(&ctx, 4096, 9)?;
    let mut output = [1u8; 4096];
    let failed = ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?));
    assert!(matches!(failed, Err(Error::Driver { code: 700, .. })), "{failed:?}");
    assert_eq!(output, [1; 4096], "nobody knows what the block holds");

    // The copy is still pending, and this memory is not where it goes.
    let mut other = ctx.create_host_buffer::<u8>(4096)?;
    other.fill(2);
    ctx.synchronize(())?;
    assert!(other.iter().all(|it| *it == 2));

    // Now it has been waited for, and the block is free.
    let pinned = fake::calls("cuMemHostAlloc");
    drop(ctx.create_host_buffer::<u8>(4096)?);
    assert_eq!(fake::calls("cuMemHostAlloc"), pinned);
    ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?))?;
    assert_eq!(output, [9; 4096]);
    Ok(())
}
