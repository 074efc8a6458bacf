//! Invariant 8: borrowed memory.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use escrow::{DeviceContext, Error, Fault};
use escrow_tests::{fail, hold, on_worker};

use super::{LEN, cpu, released_meanwhile};

/// 8: a scope returns behind its work: after success, errors, panics, and whatever was forgotten in it.
///
/// Broken on purpose: in `scope.rs`, `scope` does not make its `WaitAtEnd`; for the panic alone: `Drop` of it does
/// nothing.
#[test]
fn scopes_wait() {
    let ctx = cpu();
    let mut dev = ctx.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(3).unwrap();
    let mut run = |end: fn() -> Result<(), Error>| {
        let input = vec![4u32; LEN];
        let mut output = vec![0u32; LEN];
        let mut forgotten = [0u32];
        let held = hold(&ctx).unwrap();
        let result = released_meanwhile(held, || {
            catch_unwind(AssertUnwindSafe(|| {
                ctx.scope(|s| {
                    dev.enqueue_copy_from(s.lend(&input))?;
                    dev.enqueue_copy_to(s.lend_mut(&mut output))?;
                    #[expect(clippy::forget_non_drop, reason = "if it ever has a drop, this must not need it")]
                    std::mem::forget(s.lend_mut(&mut forgotten));
                    end()
                })
            }))
        });
        assert_eq!(output, [4; LEN]);
        result
    };
    assert!(matches!(run(|| Ok(())), Ok(Ok(()))));
    assert!(matches!(run(|| Err(Error::EmptyChunk)), Ok(Err(Error::EmptyChunk))));
    assert!(run(|| resume_unwind(Box::new(()))).is_err());
}

/// 8: what was lent to one stream is no operand on another.
///
/// Broken on purpose: in `region.rs`, `admit` does not compare.
#[test]
fn lent_memory_is_of_the_scopes_stream() {
    let (a, b) = (cpu(), cpu());
    let mut theirs = b.enqueue_create_buffer_zeroed::<u32>(4).unwrap();
    let mut lent = [1u32; 4];
    let done = a.scope(|s| {
        let Err(Fault { error, .. }) = theirs.enqueue_copy_from(s.lend(&[2u32; 4])) else { panic!("as source") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        let Err(Fault { error, .. }) = b.enqueue_create_buffer_from(s.lend(&[2u32; 4])) else { panic!("created from") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        // Also through a loan of the device buffer.
        let mut own = a.enqueue_create_buffer_zeroed::<u32>(4)?;
        let there = own.on(&b, |own| Ok(own.enqueue_copy_from(s.lend(&[2u32; 4]))?));
        assert!(matches!(there, Err(Error::WrongStream { .. })));
        assert_eq!(own.to_vec()?, [0; 4]);
        Ok(theirs.enqueue_copy_to(s.lend_mut(&mut lent))?)
    });
    assert!(matches!(done, Err(Error::WrongStream { .. })));
    assert_eq!((lent, theirs.to_vec().unwrap()), ([1; 4], vec![0; 4]));
}

/// 8: on a failed stream a scope waits and reports; what was lent is as it was.
///
/// Broken on purpose: in `scope.rs`, `scope` ignores what its wait said.
#[test]
fn a_scope_on_a_failed_stream_is_an_error() {
    let ctx = cpu();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    fail(&ctx).unwrap();
    let mut output = [7u32; LEN];
    let done = ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?));
    assert!(matches!(done, Err(Error::StreamFailed(_))));
    assert!(matches!(dev.copy_from_slice(&[1; LEN]), Err(Error::StreamFailed(_))));
    assert!(matches!(dev.to_vec(), Err(Error::StreamFailed(_))));
    // The closure's own error comes first.
    let done: Result<(), _> = ctx.scope(|_| Err(Error::EmptyChunk));
    assert!(matches!(done, Err(Error::EmptyChunk)));
    assert_eq!(output, [7; LEN]);
}

/// Nested scopes on two streams: one slice is read on both, another goes from one to the other.
///
/// Broken on purpose: as for `scopes_wait`.
#[test]
fn nested_scopes() {
    let (a, b) = (cpu(), cpu());
    let input = vec![5u32; LEN];
    let mut middle = vec![0u32; LEN];
    let mut output = vec![0u32; LEN];
    let (hold_a, hold_b) = (hold(&a).unwrap(), hold(&b).unwrap());
    released_meanwhile(hold_a, || {
        a.scope(|s| {
            let mut on_a = a.enqueue_create_buffer_from(s.lend(&input))?;
            let copy = released_meanwhile(hold_b, || {
                b.scope(|t| {
                    let on_b = b.enqueue_create_buffer_from(t.lend(&input))?;
                    on_b.enqueue_copy_to(t.lend_mut(&mut middle))?;
                    Ok(on_b)
                })
            })?;
            // The inner scope is over: its slice is ours, and lent again.
            assert_eq!(middle, [5; LEN]);
            middle.fill(6);
            on_a.enqueue_copy_from(s.lend(&middle))?;
            on_a.enqueue_copy_to(s.lend_mut(&mut output))?;
            assert_eq!(copy.to_vec()?, [5; LEN]);
            Ok(())
        })
    })
    .unwrap();
    assert_eq!(output, [6; LEN]);
    // The same stream twice.
    let mut again = [0u32; LEN];
    a.scope(|s| {
        let dev = a.enqueue_create_buffer_from(s.lend(&output))?;
        a.scope(|t| Ok(dev.enqueue_copy_to(t.lend_mut(&mut again))?))
    })
    .unwrap();
    assert_eq!(again, [6; LEN]);
}

/// Threads in a scope, and scopes in threads.
///
/// Broken on purpose: as for `scopes_wait`.
#[test]
fn scopes_and_thread_scopes() {
    let ctx = cpu();
    let input: Vec<u32> = (0..LEN as u32).collect();
    let mut outputs = vec![vec![0u32; LEN]; 3];
    ctx.scope(|s| {
        thread::scope(|t| {
            for output in &mut outputs {
                let (ctx, input) = (&ctx, &input);
                t.spawn(move || {
                    let dev = ctx.enqueue_create_buffer_from(s.lend(input)).unwrap();
                    dev.enqueue_copy_to(s.lend_mut(output)).unwrap();
                });
            }
        });
        Ok(())
    })
    .unwrap();
    assert!(outputs.iter().all(|output| *output == input));
    thread::scope(|t| {
        for output in &mut outputs {
            let (own, input) = (cpu(), &input);
            t.spawn(move || {
                output.fill(0);
                own.scope(|s| {
                    let dev = own.enqueue_create_buffer_from(s.lend(input))?;
                    Ok(dev.enqueue_copy_to(s.lend_mut(output))?)
                })
                .unwrap();
            });
        }
    });
    assert!(outputs.iter().all(|output| *output == input));
}

/// A scope on a worker could not wait, so it lends nothing.
///
/// Broken on purpose: in `scope.rs`, `scope` does not ask `not_on_worker`: the process then aborts.
#[test]
fn workers_do_not_lend() {
    let ctx = cpu();
    let inner = ctx.clone();
    let (tell, told) = std::sync::mpsc::channel();
    on_worker(&ctx, move || {
        let mut ran = false;
        let done = inner.scope(|_| {
            ran = true;
            Ok(())
        });
        tell.send((matches!(done, Err(Error::FromWorker { .. })), ran)).unwrap();
    })
    .unwrap();
    assert_eq!(told.recv(), Ok((true, false)));
    ctx.synchronize(()).unwrap();
}

/// A scope whose wait is the last thing before a context goes.
///
/// Broken on purpose: as for `scopes_wait`.
#[test]
fn a_scope_outlives_its_context() {
    let mut output = vec![0u32; LEN];
    {
        let ctx: DeviceContext = cpu();
        let held = hold(&ctx).unwrap();
        released_meanwhile(held, || {
            ctx.clone().scope(|s| {
                let dev = ctx.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(8)?;
                dev.enqueue_copy_to(s.lend_mut(&mut output))?;
                drop(ctx);
                Ok(())
            })
        })
        .unwrap();
    }
    assert_eq!(output, [8; LEN]);
}
