//! Steps on borrowed memory: spans, lent slices and the calls that wait.

use std::panic::resume_unwind;

use escrow::{Error, StreamTag};

use crate::elem::Elem;
use crate::op::Op;
use crate::pool::Real::*;
use crate::pool::{Pool, expect};
use crate::world::panics_with;

fn range(op: &Op) -> std::ops::Range<usize> {
    op.x..op.x + op.y
}

pub fn fill_span<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    let Dev(dev) = &mut slot.real else { unreachable!() };
    let value = T::make(op.value);
    let fits = op.x + op.y <= slot.data.len();
    let done = dev.as_span_mut().slice(range(op)).and_then(|mut span| span.enqueue_fill(value));
    expect(done, (!fits).then_some("Range"));
    if fits && !here.failed[slot.ctx] {
        slot.data[range(op)].fill(value);
    }
    // Every other chunk, as bytes.
    let chunks = dev.as_span_mut().chunks(op.y).map(|chunks| {
        chunks.step_by(2).for_each(|chunk| chunk.view::<u8>().unwrap().enqueue_fill(op.value as u8).unwrap());
    });
    if expect(chunks, (op.y == 0).then_some("EmptyChunk")).is_some() && !here.failed[slot.ctx] {
        for chunk in slot.data.chunks_mut(op.y).step_by(2) {
            // SAFETY: the bytes of these elements, of which every pattern is a value.
            unsafe { chunk.as_mut_ptr().cast::<u8>().write_bytes(op.value as u8, size_of_val(chunk)) };
        }
    }
    here.slots.push(slot);
}

pub fn copy_spans<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut dst) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    let Dev(to) = &mut dst.real else { unreachable!() };
    if op.other == (op.value.is_multiple_of(2)) {
        // Within one buffer, from one half to the other.
        let half = dst.data.len() / 2;
        let (low, mut high) = to.as_span_mut().split_at(half).unwrap();
        high.reborrow().slice(..half).unwrap().enqueue_copy_from(low.as_span()).unwrap();
        if !here.failed[dst.ctx] {
            dst.data.copy_within(..half, half);
        }
    } else if let Some(src) = here.take(op.b, |slot| matches!(slot.real, Dev(_) | SharedDev(_))) {
        let from = match &src.real {
            Dev(dev) => dev.as_span(),
            SharedDev(shared) => shared.as_span(),
            _ => unreachable!(),
        };
        // The destination's first elements, and the source's last.
        let len = op.y.min(to.len()).min(from.len());
        let skip = from.len() - len;
        let done = to.as_span_mut().slice(..len).unwrap().enqueue_copy_from(from.slice(skip..).unwrap());
        let error = (dst.ctx != src.ctx).then_some("WrongStream");
        if expect(done.map_err(Error::from), error).is_some() && !here.failed[dst.ctx] {
            dst.data[..len].copy_from_slice(&src.data[skip..]);
            dst.lost |= src.lost;
        }
        here.slots.push(src);
    }
    here.slots.push(dst);
}

pub fn from_slice<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_) | Raw(_))) else { return };
    let len = if op.y.is_multiple_of(4) { op.length() } else { slot.data.len() };
    let values: Vec<T> = (0..len as u64).map(|i| T::make(op.value.wrapping_add(i))).collect();
    let failed = here.failed[slot.ctx].then_some("StreamFailed");
    // Nothing is enqueued if the lengths differ, but the twin that lends still waits.
    let error = if len == slot.data.len() { failed } else { Some("Length") };
    let done = match slot.real {
        Dev(mut dev) => {
            let done = dev.copy_from_slice(&values);
            slot.real = Dev(dev);
            done
        }
        Raw(raw) => match raw.copy_from_slice(&values) {
            Ok(dev) => {
                slot.real = Dev(dev);
                Ok(())
            }
            Err(fault) => {
                slot.real = Raw(fault.value);
                Err(fault.error)
            }
        },
        other => {
            slot.real = other;
            return;
        }
    };
    if expect(done, error).is_some() {
        slot.data = values;
        slot.lost = false;
    }
    here.slots.push(slot);
}

pub fn to_slice<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_) | SharedDev(_))) else { return };
    let len = if op.y.is_multiple_of(4) { op.length() } else { slot.data.len() };
    let before = vec![T::make(op.value); len];
    let mut values = before.clone();
    let done = match &slot.real {
        Dev(dev) => dev.copy_to_slice(&mut values),
        SharedDev(shared) => shared.copy_to_slice(&mut values),
        _ => unreachable!(),
    };
    let failed = here.failed[slot.ctx].then_some("StreamFailed");
    let error = if len == slot.data.len() { failed } else { Some("Length") };
    match expect(done, error) {
        Some(()) => assert!(slot.lost || values == slot.data),
        // Skipped, so untouched.
        None => assert_eq!(values, before),
    }
    here.slots.push(slot);
}

/// Up from a lent slice and down into another; the closure may fail or panic after the copies were enqueued.
pub fn scope<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    let Dev(dev) = &mut slot.real else { unreachable!() };
    let stream = if op.y % 8 == 7 { here.stream(op.b) } else { slot.ctx };
    let ctx = if stream == slot.ctx { dev.context().clone() } else { here.ctx(stream) };
    let input: Vec<T> = (0..dev.len() as u64).map(|i| T::make(op.value.rotate_left(i as u32))).collect();
    let mut output = vec![T::make(0); dev.len()];
    let mut twice = vec![T::make(1); dev.len()];
    let failed = here.failed[stream];
    if stream != slot.ctx {
        let done = ctx.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&input))?));
        expect(done, Some("WrongStream"));
        here.slots.push(slot);
        return;
    }
    let run = |end: &dyn Fn() -> Result<(), Error>| {
        ctx.scope(|s| {
            let lent = s.lend(&input);
            dev.enqueue_copy_from(lent)?;
            dev.enqueue_copy_to(s.lend_mut(&mut output))?;
            dev.as_span_mut().enqueue_copy_from(lent)?;
            dev.as_span().enqueue_copy_to(s.lend_mut(&mut twice))?;
            end()
        })
    };
    match op.y % 4 {
        0 => panics_with(op.value, || {
            let mut run = run;
            let _ = run(&|| resume_unwind(Box::new(op.value)));
        }),
        1 => {
            let mut run = run;
            expect(run(&|| Err(Error::EmptyChunk)), Some("EmptyChunk"));
        }
        _ => {
            let mut run = run;
            expect(run(&|| Ok(())), failed.then_some("StreamFailed"));
        }
    }
    if failed {
        assert_eq!((output, twice), (vec![T::make(0); dev.len()], vec![T::make(1); dev.len()]));
    } else {
        assert_eq!((&output, &twice), (&input, &input));
        slot.data = input;
        slot.lost = false;
    }
    here.slots.push(slot);
}
