//! Steps that change who owns memory, and on which stream.

use std::mem;

use escrow::{DeviceBuffer, DeviceContext, Error, Fault, HostBuffer, StreamTag};

use crate::elem::Elem;
use crate::op::Op;
use crate::pool::Real::*;
use crate::pool::{Blocks, Pool, Slot, expect, name};
use crate::world::{after_all, panics_with};

pub fn handoff<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op, stream: usize, ctx: &DeviceContext<S>) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Flight(_) | Dev(_) | Raw(_))) else { return };
    // Every other time from a stream that the value may not be on.
    let from = if op.y.is_multiple_of(2) { here.stream(op.x) } else { slot.ctx };
    let error = (from != slot.ctx).then_some("WrongStream");
    macro_rules! move_it {
        ($variant:ident, $value:expr) => {{
            let source = if from == slot.ctx { $value.context().clone() } else { here.ctx(from) };
            match source.handoff($value, ctx) {
                Ok(value) => (Ok(()), $variant(value)),
                Err(Fault { error, value }) => (Err(error), $variant(value)),
            }
        }};
    }
    let (done, real) = match slot.real {
        Flight(flight) => move_it!(Flight, flight),
        Dev(dev) => move_it!(Dev, dev),
        Raw(raw) => move_it!(Raw, raw),
        _ => unreachable!(),
    };
    slot.real = real;
    if expect(done, error).is_some() {
        here.edge(from, stream);
        slot.ctx = stream;
    }
    here.slots.push(slot);
}

/// All device buffers of one stream with one edge; every other time with a stranger among them.
pub fn handoff_many<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op, stream: usize, ctx: &DeviceContext<S>) {
    let to = here.stream(op.x);
    let mut slots = Vec::new();
    while let Some(slot) = here.take(0, |slot| matches!(slot.real, Dev(_)) && slot.ctx == stream) {
        slots.push(slot);
    }
    let stranger = here.take(op.a, |slot| matches!(slot.real, Dev(_)) && op.y.is_multiple_of(2));
    let error = stranger.is_some().then_some("WrongStream");
    slots.extend(stranger);
    let mut rest = Vec::new();
    let mut devs = Vec::new();
    for Slot { real, data, lost, ctx, block, offset, well } in slots {
        let Dev(dev) = real else { unreachable!() };
        devs.push(dev);
        rest.push((data, lost, ctx, block, offset, well));
    }
    let (done, (devs, _)) = match ctx.handoff((devs, [const { None::<DeviceBuffer<T, S>> }; 2]), &here.ctx(to)) {
        Ok(values) => (Ok(()), values),
        Err(Fault { error, value }) => (Err(error), value),
    };
    let moved = expect(done, error).is_some();
    if moved {
        here.edge(stream, to);
    }
    for (dev, (data, lost, ctx, block, offset, well)) in devs.into_iter().zip(rest) {
        let ctx = if moved { to } else { ctx };
        here.slots.push(Slot { real: Dev(dev), data, lost, ctx, block, offset, well });
    }
}

pub fn handoff_to_other_tag<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &mut Pool<T, Q>,
    op: &Op,
) {
    let Some(slot) = here.take(op.a, |slot| matches!(slot.real, Flight(_) | Dev(_))) else { return };
    let to = there.stream(op.b);
    let ctx = there.ctx(to);
    let real = match slot.real {
        Flight(flight) => Flight(flight.reassign_ownership_to(&ctx).unwrap()),
        Dev(dev) => Dev(dev.reassign_ownership_to(&ctx).unwrap()),
        _ => unreachable!(),
    };
    there.failed[to] |= here.failed[slot.ctx];
    let Slot { data, lost, block, offset, well, .. } = slot;
    there.slots.push(Slot { real, data, lost, ctx: to, block, offset, well });
}

pub fn reassign<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op, stream: usize, ctx: &DeviceContext<S>) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_))) else { return };
    slot.real = match slot.real {
        // Idle: no edge.
        Host(host) => {
            slot.ctx = stream;
            Host(host.reassign_ownership_to(ctx).unwrap())
        }
        Flight(flight) => Flight(flight.reassign_ownership_to(ctx).unwrap()),
        Dev(dev) => Dev(dev.reassign_ownership_to(ctx).unwrap()),
        other => other,
    };
    here.edge(slot.ctx, stream);
    slot.ctx = stream;
    here.slots.push(slot);
}

pub fn on<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op, stream: usize, ctx: &DeviceContext<S>) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    let Dev(dev) = &mut slot.real else { unreachable!() };
    let home = slot.ctx;
    let value = T::make(op.value);
    here.edge(home, stream);
    let failed = here.failed[stream];
    let mut written = !failed;
    match op.y % 5 {
        0 => {
            dev.on(ctx, |dev| dev.enqueue_fill(value)).unwrap();
        }
        1 => {
            let done: Result<(), Error> = dev.on(ctx, |dev| {
                dev.enqueue_fill(value)?;
                Err(Error::EmptyChunk)
            });
            expect(done, Some("EmptyChunk"));
        }
        2 => panics_with(op.value, || {
            let _: Result<(), Error> = dev.on(ctx, |dev| {
                dev.enqueue_fill(value).unwrap();
                std::panic::resume_unwind(Box::new(op.value));
            });
        }),
        3 => {
            written = false;
            let values = dev.on(ctx, |dev| dev.to_vec());
            let values = expect(values, failed.then_some("StreamFailed"));
            assert!(slot.lost || values.is_none_or(|values| values == slot.data));
        }
        _ => {
            written = false;
            if let Some(mut swapped) = here.take(op.x, |slot| matches!(slot.real, Dev(_))) {
                let Dev(inner) = &mut swapped.real else { unreachable!() };
                dev.on(ctx, |dev| {
                    mem::swap(dev, inner);
                    Ok(())
                })
                .unwrap();
                // What came in goes home from its own stream; what was here stays where it was lent to.
                here.edge(swapped.ctx, home);
                mem::swap(&mut slot.data, &mut swapped.data);
                mem::swap(&mut slot.lost, &mut swapped.lost);
                mem::swap(&mut slot.block, &mut swapped.block);
                swapped.ctx = stream;
                here.slots.push(swapped);
                here.slots.push(slot);
                return;
            }
            dev.on(ctx, |_| Ok(())).unwrap();
        }
    }
    here.edge(stream, home);
    if written {
        slot.data.fill(value);
        slot.lost = false;
    }
    assert_eq!(
        slot.data.len(),
        match &slot.real {
            Dev(dev) => dev.len(),
            _ => unreachable!(),
        }
    );
    here.slots.push(slot);
}

pub fn into_shared<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Dev(_))) else { return };
    slot.real = match slot.real {
        Host(host) => SharedHost(host.into_shared()),
        Dev(dev) => SharedDev(dev.into_shared().unwrap()),
        other => other,
    };
    here.slots.push(slot);
}

pub fn share<T: Elem, S: StreamTag>(
    here: &mut Pool<T, S>,
    blocks: &mut Blocks,
    op: &Op,
    stream: usize,
    ctx: &DeviceContext<S>,
) {
    let Some(slot) = here.take(op.a, |slot| matches!(slot.real, SharedHost(_) | SharedDev(_))) else { return };
    let (real, ctx) = match &slot.real {
        SharedHost(shared) => (SharedHost(shared.clone()), slot.ctx),
        SharedDev(shared) => {
            here.edge(slot.ctx, stream);
            (SharedDev(shared.share_with(ctx).unwrap()), stream)
        }
        _ => unreachable!(),
    };
    blocks.add(slot.block, 1);
    let &Slot { lost, block, offset, well, .. } = &slot;
    here.slots.push(Slot { real, data: slot.data.clone(), lost, ctx, block, offset, well });
    here.slots.push(slot);
}

pub fn share_with_other_tag<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &mut Pool<T, Q>,
    blocks: &mut Blocks,
    op: &Op,
) {
    let Some(slot) = here.take(op.a, |slot| matches!(slot.real, SharedDev(_))) else { return };
    let SharedDev(shared) = &slot.real else { unreachable!() };
    let to = there.stream(op.b);
    let real = SharedDev(shared.share_with(&there.ctx(to)).unwrap());
    there.failed[to] |= here.failed[slot.ctx];
    blocks.add(slot.block, 1);
    let &Slot { lost, block, offset, well, .. } = &slot;
    there.slots.push(Slot { real, data: slot.data.clone(), lost, ctx: to, block, offset, well });
    here.slots.push(slot);
}

pub fn sub<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, blocks: &mut Blocks, op: &Op) {
    let Some(slot) = here.take(op.a, |slot| matches!(slot.real, SharedHost(_))) else { return };
    let SharedHost(shared) = &slot.real else { unreachable!() };
    let (start, len) = (op.x, op.y);
    let part = shared.create_sub_buffer::<T>(start, len);
    // Bytes are elements of every type whose size divides them.
    let bytes = shared.create_sub_buffer::<u8>(start, len).ok();
    assert_eq!(bytes.is_some(), start + len <= slot.data.len() * size_of::<T>());
    if let Some(part) = expect(part, (start + len > slot.data.len()).then_some("Range")) {
        blocks.add(slot.block, 1);
        let data = slot.data[start..start + len].to_vec();
        let &Slot { lost, ctx, block, offset, well, .. } = &slot;
        here.slots.push(Slot { real: SharedHost(part), data, lost, ctx, block, offset: offset + start, well });
    }
    here.slots.push(slot);
}

pub fn unshare<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &Pool<T, Q>,
    blocks: &mut Blocks,
    op: &Op,
) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, SharedHost(_) | SharedDev(_))) else { return };
    let foreign = blocks.is_foreign(slot.block);
    let alone = blocks.holders(slot.block) == 1;
    let still = |error: &Error| assert_eq!(name(error), "StillShared");
    slot.real = match slot.real {
        SharedHost(shared) => match shared.try_unshare() {
            Ok(host) => {
                assert!(alone || foreign, "unshared while others hold it");
                Host(host)
            }
            Err(Fault { error, value }) => {
                still(&error);
                if alone {
                    // Only reads that were pending can have been in the way.
                    Host(after_all(here, there, value, |shared| shared.try_unshare().map_err(|fault| fault.value)))
                } else {
                    SharedHost(value)
                }
            }
        },
        SharedDev(shared) => match shared.try_unshare() {
            Ok(dev) => {
                assert!(alone || foreign, "unshared while others read it");
                Dev(dev)
            }
            Err(Fault { error, value }) => {
                still(&error);
                assert!(!alone, "pending reads of device memory are no obstacle");
                SharedDev(value)
            }
        },
        other => other,
    };
    if matches!(slot.real, Host(_) | Dev(_)) && foreign {
        blocks.adopt(slot.block);
    }
    here.slots.push(slot);
}

pub fn split<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, blocks: &mut Blocks, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_))) else { return };
    let Host(host) = slot.real else { unreachable!() };
    match host.into_split_at(op.x) {
        Ok((low, high)) => {
            let data = slot.data.split_off(op.x);
            blocks.add(slot.block, 1);
            let (lost, ctx, block, offset, well) = (slot.lost, slot.ctx, slot.block, slot.offset, slot.well);
            let offset = if block.is_some() { offset + op.x } else { 0 };
            here.slots.push(Slot { real: Host(high), data, lost, ctx, block, offset, well });
            slot.real = Host(low);
        }
        Err(Fault { error, value }) => {
            assert!(name(&error) == "Range" && op.x > slot.data.len(), "{error}");
            slot.real = Host(value);
        }
    }
    here.slots.push(slot);
}

pub fn chunks<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, blocks: &mut Blocks, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_))) else { return };
    let Host(host) = slot.real else { unreachable!() };
    match host.into_chunks(op.y * 4) {
        Ok(pieces) => {
            assert_eq!(pieces.len(), slot.data.len().div_ceil(op.y * 4).max(1));
            blocks.add(slot.block, pieces.len() - 1);
            let (lost, ctx, block, well) = (slot.lost, slot.ctx, slot.block, slot.well);
            let (mut offset, mut rest) = (slot.offset, slot.data);
            for piece in pieces {
                let tail = rest.split_off(piece.len());
                let data = mem::replace(&mut rest, tail);
                let next = offset + data.len();
                here.slots.push(Slot { real: Host(piece), data, lost, ctx, block, offset, well });
                offset = next;
            }
            assert!(rest.is_empty());
        }
        Err(Fault { error, value }) => {
            assert!(name(&error) == "EmptyChunk" && op.y == 0, "{error}");
            slot.real = Host(value);
            here.slots.push(slot);
        }
    }
}

/// Joins the pieces of one block, if they are all there and idle; sometimes in a wrong order or with a stranger.
pub fn rejoin<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, blocks: &mut Blocks, op: &Op) {
    let Some(first) = here.take(op.a, |slot| matches!(slot.real, Host(_))) else {
        let none = HostBuffer::<T, S>::rejoin([]).map_err(Error::from);
        expect(none, Some("NotAdjacent"));
        return;
    };
    let block = first.block;
    let mut slots = vec![first];
    while let Some(slot) = here.take(0, |slot| matches!(slot.real, Host(_)) && slot.block == block && block.is_some()) {
        slots.push(slot);
    }
    // Pieces of no length lie where others begin or end: the order of the lengths is that of the block.
    slots.sort_by_key(|slot| (slot.offset, slot.data.len()));
    match op.y % 4 {
        0 => slots.reverse(),
        1 => slots.extend(here.take(op.b, |slot| matches!(slot.real, Host(_)))),
        _ => {}
    }
    let meets =
        |pair: &[Slot<T, S>]| pair[0].block == pair[1].block && pair[0].offset + pair[0].data.len() == pair[1].offset;
    let gap = slots.windows(2).position(|pair| !meets(pair)).map(|at| at + 1);
    let mut rest = Vec::new();
    let mut pieces = Vec::new();
    for Slot { real, data, lost, ctx, block, offset, well } in slots {
        let Host(host) = real else { unreachable!() };
        pieces.push(host);
        rest.push((data, lost, ctx, block, offset, well));
    }
    match HostBuffer::rejoin(pieces) {
        Ok(whole) => {
            assert_eq!(gap, None);
            blocks.remove(block, rest.len() - 1);
            let data: Vec<T> = rest.iter().flat_map(|(data, ..)| data).copied().collect();
            let lost = rest.iter().any(|(_, lost, ..)| *lost);
            let (_, _, ctx, block, offset, well) = rest[0];
            assert!(lost || whole[..] == data[..]);
            here.slots.push(Slot { real: Host(whole), data, lost, ctx, block, offset, well });
        }
        Err(Fault { error, value }) => {
            assert!(matches!(error, Error::NotAdjacent { index } if Some(index) == gap), "{error} {gap:?}");
            for (host, (data, lost, ctx, block, offset, well)) in value.into_iter().zip(rest) {
                here.slots.push(Slot { real: Host(host), data, lost, ctx, block, offset, well });
            }
        }
    }
}

pub fn take_ptr<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &Pool<T, Q>,
    blocks: &Blocks,
    op: &Op,
) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Dev(_))) else { return };
    let whole = blocks.is_whole(slot.block, slot.offset, slot.data.len());
    slot.real = match slot.real {
        Dev(dev) => DevPtr(dev.take_ptr()),
        Host(host) => match host.take_ptr() {
            Ok(ptr) => {
                assert!(whole, "a pointer of a piece");
                HostPtr(ptr)
            }
            Err(Fault { error, value }) => {
                assert_eq!(name(&error), "Piece");
                if whole {
                    // Only pieces in flight that were dropped can have been in the way.
                    HostPtr(after_all(here, there, value, |host| host.take_ptr().map_err(|fault| fault.value)))
                } else {
                    Host(value)
                }
            }
        },
        other => other,
    };
    here.slots.push(slot);
}

pub fn from_ptr<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &Pool<T, Q>,
    op: &Op,
    stream: usize,
    ctx: &DeviceContext<S>,
) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, HostPtr(_) | DevPtr(_))) else { return };
    let len = slot.data.len();
    slot.real = match slot.real {
        HostPtr(ptr) => {
            // SAFETY: refused calls take nothing; the last one is the only one that takes `ptr`, which `take_ptr` gave.
            unsafe {
                let error = if len == 0 { "NotTaken" } else { "Length" };
                expect(HostBuffer::from_ptr(ctx, ptr, len + 1), Some(error));
                Host(HostBuffer::from_ptr(ctx, ptr, len).unwrap())
            }
        }
        DevPtr(ptr) => {
            // The pointer says nothing of its stream: everything that may use the memory is waited for.
            here.synchronize_all();
            there.synchronize_all();
            if here.ctxs[slot.ctx].is_none() {
                // Its stream has no handle left to wait with.
                slot.real = DevPtr(ptr);
                here.slots.push(slot);
                return;
            }
            // SAFETY: as above, and all work on the memory is done.
            unsafe {
                let error = if len == 0 { "NotTaken" } else { "Length" };
                expect(DeviceBuffer::from_ptr(ctx, ptr, len + 1), Some(error));
                Dev(DeviceBuffer::from_ptr(ctx, ptr, len).unwrap())
            }
        }
        other => other,
    };
    slot.ctx = stream;
    here.slots.push(slot);
}
