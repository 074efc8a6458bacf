//! One program's values, and its steps.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use escrow::{DeviceBuffer, DeviceContext, Dyn, Error, Fault, HostBuffer, Operation, StreamTag};

use crate::elem::Elem;
use crate::op::{Kind, Op};
use crate::pool::Real::*;
use crate::pool::{Blocks, Pool, Slot, expect, in_the_end};
use crate::{copy, lend, own};

escrow::streams! { pub Other }

/// Values under two tags, on several streams of each.
pub struct World<T: Elem> {
    pub plain: Pool<T, Dyn>,
    pub other: Pool<T, Other>,
    pub blocks: Blocks,
}

impl<T: Elem> World<T> {
    pub fn step(&mut self, op: &Op) {
        if op.other {
            step(&mut self.other, &mut self.plain, &mut self.blocks, op);
        } else {
            step(&mut self.plain, &mut self.other, &mut self.blocks, op);
        }
    }

    /// Compares everything that can be read with the model.
    pub fn finish(self) {
        finish(self.plain);
        finish(self.other);
    }
}

/// Where the operand may be used: only on the stream that it is on, or anywhere.
pub fn is_pinned<T: Elem, S: StreamTag>(slot: &Slot<T, S>) -> bool {
    !matches!(slot.real, Host(_) | SharedHost(_))
}

fn step<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &mut Pool<T, Q>,
    blocks: &mut Blocks,
    op: &Op,
) {
    let stream = here.stream(op.b);
    let ctx = here.ctx(stream);
    match op.kind {
        Kind::CreateHost => {
            let mut host = ctx.create_host_buffer::<T>(op.length()).unwrap();
            host.fill(T::make(op.value)); // the contents were unspecified
            let data = host.to_vec();
            here.push(Host(host), data, stream, blocks.create(op.length()));
        }
        Kind::CreateHostFrom => {
            let data: Vec<T> =
                (0..op.length() as u64).map(|i| T::make(op.value ^ i.wrapping_mul(0x0101_0307))).collect();
            let host = ctx.create_host_buffer_from(&data).unwrap();
            here.push(Host(host), data, stream, blocks.create(op.length()));
        }
        Kind::CreateRaw => {
            let raw = ctx.enqueue_create_buffer::<T>(op.length()).unwrap();
            here.push(Raw(raw), vec![T::make(0); op.length()], stream, blocks.create(op.length()));
        }
        Kind::CreateZeroed => {
            let dev = ctx.enqueue_create_buffer_zeroed::<T>(op.length()).unwrap();
            // SAFETY: all zeros are a value of every element type.
            let zero: T = unsafe { std::mem::zeroed() };
            here.push(Dev(dev), vec![zero; op.length()], stream, blocks.create(op.length()));
            here.slots.last_mut().unwrap().lost = here.failed[stream];
        }
        Kind::Empty => here.push(Dev(DeviceBuffer::empty(&ctx)), Vec::new(), stream, None),
        Kind::CreateFrom => create_from(here, blocks, op, stream, &ctx),
        Kind::CreateFromOtherTag => create_from_other_tag(here, there, blocks, op, stream, &ctx),
        Kind::IntoUninit => {
            if let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) {
                let Dev(dev) = slot.real else { unreachable!() };
                slot.real = Raw(dev.into_uninit());
                here.slots.push(slot);
            }
        }
        Kind::WriteHost => {
            if let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_)) && !slot.data.is_empty()) {
                let Host(host) = &mut slot.real else { unreachable!() };
                assert_eq!(host[..], slot.data[..]);
                let at = op.x % host.len();
                host[at] = T::make(op.value);
                slot.data[at] = T::make(op.value);
                here.slots.push(slot);
            }
        }
        Kind::Fill => fill(here, op),
        Kind::FillSpan => lend::fill_span(here, op),
        Kind::CopyTo => copy_to(here, op),
        Kind::CopyFrom => copy_from(here, op),
        Kind::CopySpans => lend::copy_spans(here, op),
        Kind::CopyToOtherTag => copy_to_other_tag(here, there, op),
        Kind::FromSlice => lend::from_slice(here, op),
        Kind::ToSlice => lend::to_slice(here, op),
        Kind::Scope => lend::scope(here, op),
        Kind::Handoff => own::handoff(here, op, stream, &ctx),
        Kind::HandoffMany => own::handoff_many(here, op, stream, &ctx),
        Kind::HandoffToOtherTag => own::handoff_to_other_tag(here, there, op),
        Kind::Reassign => own::reassign(here, op, stream, &ctx),
        Kind::On => own::on(here, op, stream, &ctx),
        Kind::IntoShared => own::into_shared(here, op),
        Kind::Share => own::share(here, blocks, op, stream, &ctx),
        Kind::ShareWithOtherTag => own::share_with_other_tag(here, there, blocks, op),
        Kind::Sub => own::sub(here, blocks, op),
        Kind::Unshare => own::unshare(here, there, blocks, op),
        Kind::Split => own::split(here, blocks, op),
        Kind::Chunks => own::chunks(here, blocks, op),
        Kind::Rejoin => own::rejoin(here, blocks, op),
        Kind::TakePtr => own::take_ptr(here, there, blocks, op),
        Kind::FromPtr => own::from_ptr(here, there, op, stream, &ctx),
        Kind::Record => record(here, op),
        Kind::WaitRecorded => wait_recorded(here, op),
        Kind::Land => land(here, op),
        Kind::LandMany => land_many(here, op, stream, &ctx),
        Kind::Kernel => kernel(here, op),
        Kind::Drop => {
            if let Some(slot) = here.take(op.a, |slot| !matches!(slot.real, HostPtr(_) | DevPtr(_))) {
                blocks.remove(slot.block, 1);
            }
        }
        Kind::Forget => {
            // What is forgotten keeps its stream and so a thread, of which there are not enough for every program of a
            // long run.
            static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);
            if FORGOTTEN.fetch_add(1, Ordering::Relaxed) < 1000
                && let Some(slot) = here.take(op.a, |_| true)
            {
                std::mem::forget(slot.real);
            }
        }
        Kind::NewContext => {
            let fresh = ctx.fork_tagged(tag::<S>()).unwrap();
            here.ctxs.push(Some(fresh));
            here.failed.push(false);
            let retired = here.ctxs.len() - crate::pool::STREAMS - 1;
            here.ctxs[retired] = None;
        }
        Kind::Fail => {
            escrow_tests::fail(&ctx).unwrap();
            here.failed[stream] = true;
        }
    }
}

/// A value of the tag `S`, which is a unit struct.
fn tag<S: StreamTag>() -> S {
    const { assert!(size_of::<S>() == 0) };
    // SAFETY: a value of no bytes; tags here are unit structs, which anyone may make.
    unsafe { std::mem::zeroed() }
}

fn create_from<T: Elem, S: StreamTag>(
    here: &mut Pool<T, S>,
    blocks: &mut Blocks,
    op: &Op,
    stream: usize,
    ctx: &DeviceContext<S>,
) {
    let Some(mut slot) =
        here.take(op.a, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_) | SharedHost(_) | SharedDev(_)))
    else {
        return;
    };
    let error = (is_pinned(&slot) && slot.ctx != stream).then_some("WrongStream");
    let made = match slot.real {
        Host(host) => {
            slot.ctx = stream;
            let (made, flight) = split(ctx.enqueue_create_buffer_from(host));
            slot.real = Flight(flight);
            made
        }
        Flight(flight) => {
            let (made, flight) = split(ctx.enqueue_create_buffer_from(flight));
            slot.real = Flight(flight);
            made
        }
        Dev(ref dev) => ctx.enqueue_create_buffer_from(dev).map_err(Error::from),
        SharedHost(ref shared) => ctx.enqueue_create_buffer_from(shared).map_err(Error::from),
        SharedDev(ref shared) => ctx.enqueue_create_buffer_from(shared.as_span()).map_err(Error::from),
        _ => unreachable!(),
    };
    if let Some(dev) = expect(made, error) {
        here.push(Dev(dev), slot.data.clone(), stream, blocks.create(slot.data.len()));
        here.slots.last_mut().unwrap().lost = slot.lost || here.failed[stream];
    }
    here.slots.push(slot);
}

/// The device buffer or the error, and the host memory of either arm.
fn split<A, B>(result: Result<(A, B), Fault<B>>) -> (Result<A, Error>, B) {
    match result {
        Ok((made, host)) => (Ok(made), host),
        Err(Fault { error, value }) => (Err(error), value),
    }
}

/// Idle and shared host memory joins a stream of any tag.
fn create_from_other_tag<T: Elem, S: StreamTag, Q: StreamTag>(
    here: &mut Pool<T, S>,
    there: &mut Pool<T, Q>,
    blocks: &mut Blocks,
    op: &Op,
    stream: usize,
    ctx: &DeviceContext<S>,
) {
    let Some(slot) = there.take(op.a, |slot| !is_pinned(slot)) else { return };
    let len = slot.data.len();
    let dev = match slot.real {
        Host(host) => {
            let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
            here.push(Flight(flight), slot.data.clone(), stream, slot.block);
            let flight = here.slots.last_mut().unwrap();
            (flight.offset, flight.lost) = (slot.offset, slot.lost);
            dev
        }
        SharedHost(ref shared) => {
            let dev = ctx.enqueue_create_buffer_from(shared).unwrap();
            there.slots.push(Slot { data: slot.data.clone(), ..slot });
            dev
        }
        _ => unreachable!(),
    };
    here.push(Dev(dev), slot.data, stream, blocks.create(len));
    here.slots.last_mut().unwrap().lost = slot.lost || here.failed[stream];
}

fn copy_to_other_tag<T: Elem, S: StreamTag, Q: StreamTag>(here: &mut Pool<T, S>, there: &mut Pool<T, Q>, op: &Op) {
    let Some(src) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    let Some(mut dst) = there.take(op.b, |slot| matches!(slot.real, Host(_))) else {
        here.slots.push(src);
        return;
    };
    let Dev(dev) = &src.real else { unreachable!() };
    let Host(host) = dst.real else { unreachable!() };
    let (done, flight) = match dev.enqueue_copy_to(host) {
        Ok(flight) => (Ok(()), flight),
        Err(Fault { error, value }) => (Err(error), value),
    };
    let real = copy::after(&done, true, flight);
    if expect(done, (src.data.len() != dst.data.len()).then_some("Length")).is_some() && !here.failed[src.ctx] {
        dst.data.clone_from(&src.data);
        dst.lost = src.lost;
    }
    let Slot { data, lost, block, offset, well, .. } = dst;
    here.slots.push(Slot { real, data, lost, ctx: src.ctx, block, offset, well });
    here.slots.push(src);
}

fn copy_error<T: Elem, S: StreamTag>(receiver: &Slot<T, S>, operand: &Slot<T, S>) -> Option<&'static str> {
    if is_pinned(operand) && operand.ctx != receiver.ctx {
        Some("WrongStream")
    } else {
        (receiver.data.len() != operand.data.len()).then_some("Length")
    }
}

fn copy_to<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut a) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_) | SharedDev(_))) else {
        return;
    };
    if let Some(mut b) = here.take(op.b, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_))) {
        let error = copy_error(&a, &b);
        let joins = matches!(b.real, Host(_));
        match copy::copy_to(a.real, b.real) {
            Ok((done, x, y)) => {
                (a.real, b.real) = (x, y);
                b.ctx = if joins { a.ctx } else { b.ctx };
                if expect(done, error).is_some() && !here.failed[a.ctx] {
                    b.data.clone_from(&a.data);
                    b.lost = a.lost;
                }
            }
            Err((x, y)) => (a.real, b.real) = (x, y),
        }
        here.slots.push(b);
    }
    here.slots.push(a);
}

fn copy_from<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut a) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_) | Raw(_))) else {
        return;
    };
    if let Some(mut b) =
        here.take(op.b, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_) | SharedHost(_) | SharedDev(_)))
    {
        let error = copy_error(&a, &b);
        let joins = matches!(b.real, Host(_));
        let raw = matches!(a.real, Raw(_));
        match copy::copy_from(a.real, b.real) {
            Ok((done, x, y)) => {
                (a.real, b.real) = (x, y);
                b.ctx = if joins { a.ctx } else { b.ctx };
                if expect(done, error).is_some() {
                    if here.failed[a.ctx] {
                        a.lost |= raw;
                    } else {
                        a.data.clone_from(&b.data);
                        a.lost = b.lost;
                    }
                }
            }
            Err((x, y)) => (a.real, b.real) = (x, y),
        }
        here.slots.push(b);
    }
    here.slots.push(a);
}

fn fill<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let value = T::make(op.value);
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Host(_) | Flight(_) | Dev(_) | Raw(_))) else {
        return;
    };
    let raw = matches!(slot.real, Raw(_));
    slot.real = match slot.real {
        Host(host) => Flight(host.enqueue_fill(value).unwrap()),
        Flight(flight) => Flight(flight.enqueue_fill(value).unwrap()),
        Dev(mut dev) => {
            dev.enqueue_fill(value).unwrap();
            Dev(dev)
        }
        Raw(raw) => Dev(raw.enqueue_fill(value).unwrap()),
        other => other,
    };
    if here.failed[slot.ctx] {
        slot.lost |= raw;
    } else {
        slot.data.fill(value);
        slot.lost = false;
    }
    here.slots.push(slot);
}

fn kernel<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut dst) = here.take(op.a, |slot| matches!(slot.real, Dev(_))) else { return };
    if let Some(src) = here.take(op.b, |slot| matches!(slot.real, Dev(_))) {
        let stream = here.stream(op.x);
        let (Dev(to), Dev(from)) = (&mut dst.real, &src.real) else { unreachable!() };
        if let Some(done) = T::enqueue_mix(&here.ctx(stream), to, from) {
            let error = if dst.ctx != stream || src.ctx != stream {
                Some("WrongStream")
            } else {
                (dst.data.len() != src.data.len()).then_some("Requires")
            };
            if expect(done, error).is_some() && !here.failed[stream] {
                dst.data.iter_mut().zip(&src.data).for_each(|(d, s)| *d = d.mixed(*s));
                dst.lost |= src.lost;
            }
        }
        here.slots.push(src);
    }
    here.slots.push(dst);
}

fn record<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Flight(_))) else { return };
    let Flight(flight) = slot.real else { unreachable!() };
    // Every other time with a context that may be another stream of the same tag.
    let stream = if op.y.is_multiple_of(2) { slot.ctx } else { here.stream(op.b) };
    let ctx = if op.y.is_multiple_of(2) { flight.context().clone() } else { here.ctx(stream) };
    slot.real = match ctx.record(flight) {
        Ok(recorded) => {
            assert_eq!(stream, slot.ctx);
            slot.well = !here.failed[stream];
            Recorded(recorded)
        }
        Err(Fault { error, value }) => {
            assert!(matches!(error, Error::WrongStream { op: Operation::Record }) && stream != slot.ctx, "{error}");
            Flight(value)
        }
    };
    here.slots.push(slot);
}

fn wait_recorded<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Recorded(_))) else { return };
    let Recorded(recorded) = slot.real else { unreachable!() };
    if slot.well {
        let _: bool = recorded.is_finished().unwrap();
    }
    slot.real = match recorded.wait() {
        Ok(host) => {
            assert!(slot.well);
            Host(host)
        }
        Err(Fault { error, value }) => {
            assert!(matches!(error, Error::StreamFailed(_)) && !slot.well, "{error}");
            Recorded(value)
        }
    };
    check_host(&slot);
    here.slots.push(slot);
}

fn land<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op) {
    let Some(mut slot) = here.take(op.a, |slot| matches!(slot.real, Flight(_))) else { return };
    let Flight(flight) = slot.real else { unreachable!() };
    slot.real = match flight.synchronize() {
        Ok(host) => {
            assert!(!here.failed[slot.ctx]);
            Host(host)
        }
        Err(Fault { error, value }) => {
            assert!(matches!(error, Error::StreamFailed(_)) && here.failed[slot.ctx], "{error}");
            Flight(value)
        }
    };
    check_host(&slot);
    here.slots.push(slot);
}

/// All flights of one stream in one wait; every other time with a stranger among them.
fn land_many<T: Elem, S: StreamTag>(here: &mut Pool<T, S>, op: &Op, stream: usize, ctx: &DeviceContext<S>) {
    let mut taken = Vec::new();
    while let Some(slot) = here.take(0, |slot| matches!(slot.real, Flight(_)) && slot.ctx == stream) {
        taken.push(slot);
    }
    let stranger = here.take(op.a, |slot| matches!(slot.real, Flight(_)) && op.y.is_multiple_of(2));
    let error = if stranger.is_some() { Some("WrongStream") } else { here.failed[stream].then_some("StreamFailed") };
    taken.extend(stranger);
    let mut flights = Vec::new();
    let mut rest = Vec::new();
    for slot in taken {
        let Slot { real, data, lost, ctx, block, offset, well } = slot;
        let Flight(flight) = real else { unreachable!() };
        flights.push(flight);
        rest.push((data, lost, ctx, block, offset, well));
    }
    let reals: Vec<_> = match ctx.synchronize((flights, None::<escrow::InFlight<HostBuffer<T, S>>>)) {
        Ok((hosts, None)) => {
            assert_eq!(error, None);
            hosts.into_iter().map(Host).collect()
        }
        Ok(_) => unreachable!("`None` came back as something"),
        Err(Fault { error: found, value: (flights, _) }) => {
            expect(Err::<(), _>(found), error);
            flights.into_iter().map(Flight).collect()
        }
    };
    for (real, (data, lost, ctx, block, offset, well)) in reals.into_iter().zip(rest) {
        let slot = Slot { real, data, lost, ctx, block, offset, well };
        check_host(&slot);
        here.slots.push(slot);
    }
}

/// What the host owns, it can read at any time.
pub fn check_host<T: Elem, S: StreamTag>(slot: &Slot<T, S>) {
    match &slot.real {
        Host(host) if !slot.lost => assert_eq!(host[..], slot.data[..]),
        SharedHost(host) if !slot.lost => assert_eq!(host[..], slot.data[..]),
        _ => {}
    }
}

fn finish<T: Elem, S: StreamTag>(mut pool: Pool<T, S>) {
    // In a drawn order of streams it would be the same; the newest first forces edges from behind.
    while let Some(mut slot) = pool.slots.pop() {
        let failed = pool.failed[slot.ctx];
        match slot.real {
            Flight(flight) => match expect(flight.synchronize().map_err(Error::from), failed.then_some("StreamFailed"))
            {
                Some(host) => slot.real = Host(host),
                None => continue,
            },
            Recorded(recorded) => {
                match expect(recorded.wait().map_err(Error::from), (!slot.well).then_some("StreamFailed")) {
                    Some(host) => slot.real = Host(host),
                    None => continue,
                }
            }
            Dev(ref dev) => {
                let values = expect(dev.to_vec(), failed.then_some("StreamFailed"));
                assert!(slot.lost || values.is_none_or(|values| values == slot.data));
            }
            SharedDev(ref shared) => {
                let values = expect(shared.to_vec(), failed.then_some("StreamFailed"));
                assert!(slot.lost || values.is_none_or(|values| values == slot.data));
            }
            _ => {}
        }
        check_host(&slot);
    }
    pool.synchronize_all();
}

/// Runs `f`, which panics with `payload` on purpose, and checks that this is what came out.
pub fn panics_with(payload: u64, f: impl FnOnce()) {
    match catch_unwind(AssertUnwindSafe(f)) {
        Err(found) if found.downcast_ref() == Some(&payload) => {}
        Err(other) => resume_unwind(other),
        Ok(()) => panic!("the panic was swallowed"),
    }
}

/// Ends the counts that are only pending, then tries again until it succeeds.
pub fn after_all<T: Elem, S: StreamTag, Q: StreamTag, V, R>(
    here: &Pool<T, S>,
    there: &Pool<T, Q>,
    value: V,
    f: impl FnMut(V) -> Result<R, V>,
) -> R {
    here.synchronize_all();
    there.synchronize_all();
    in_the_end(value, f)
}
