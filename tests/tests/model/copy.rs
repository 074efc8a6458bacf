//! Copies in all combinations of receiver and operand.

use escrow::{Error, Fault, HostBuffer, InFlight, StreamTag};

use crate::elem::Elem;
use crate::pool::Real::{self, *};

type Done<T, S> = (Result<(), Error>, Real<T, S>, Real<T, S>);

/// Result, and the values of either arm.
fn arms<V>(result: Result<V, Fault<V>>) -> (Result<(), Error>, V) {
    match result {
        Ok(value) => (Ok(()), value),
        Err(Fault { error, value }) => (Err(error), value),
    }
}

/// Whether a host operand was idle before the call.
#[derive(Clone, Copy, PartialEq)]
enum Was {
    Idle,
    Flying,
}

/// A host operand after a call. What was idle before one that failed lands at once, whatever its stream is doing.
pub fn after<T: Elem, S: StreamTag>(
    done: &Result<(), Error>,
    was_idle: bool,
    flight: InFlight<HostBuffer<T, S>>,
) -> Real<T, S> {
    if done.is_err() && was_idle { Host(flight.synchronize().unwrap()) } else { Flight(flight) }
}

/// A result with both host operands in flight.
macro_rules! both {
    ($call:expr, $a:ident, $b:ident) => {{
        let (done, (a, b)) = arms($call);
        let (a, b) = (after(&done, Was::$a == Was::Idle, a), after(&done, Was::$b == Was::Idle, b));
        (done, a, b)
    }};
}

/// A result with the receiver in flight; the operand was borrowed.
macro_rules! receiver {
    ($call:expr, $a:ident, $operand:expr) => {{
        let (done, a) = arms($call);
        let a = after(&done, Was::$a == Was::Idle, a);
        (done, a, $operand)
    }};
}

/// A result with the operand in flight; the receiver was borrowed.
macro_rules! operand {
    ($receiver:expr, $call:expr, $b:ident) => {{
        let (done, b) = arms($call);
        let b = after(&done, Was::$b == Was::Idle, b);
        (done, $receiver, b)
    }};
}

/// A result of a call that borrowed both.
macro_rules! neither {
    ($receiver:expr, $call:expr, $operand:expr) => {{
        let (done, ()) = arms($call);
        (done, $receiver, $operand)
    }};
}

/// `receiver.enqueue_copy_to(operand)`. Values of which there is no such copy come back at once.
#[allow(clippy::result_large_err)] // the values on their way back
pub fn copy_to<T: Elem, S: StreamTag>(
    receiver: Real<T, S>,
    operand: Real<T, S>,
) -> Result<Done<T, S>, (Real<T, S>, Real<T, S>)> {
    Ok(match (receiver, operand) {
        (Host(a), Host(b)) => both!(a.enqueue_copy_to(b), Idle, Idle),
        (Host(a), Flight(b)) => both!(a.enqueue_copy_to(b), Idle, Flying),
        (Flight(a), Host(b)) => both!(a.enqueue_copy_to(b), Flying, Idle),
        (Flight(a), Flight(b)) => both!(a.enqueue_copy_to(b), Flying, Flying),
        (Host(a), Dev(mut b)) => receiver!(a.enqueue_copy_to(&mut b), Idle, Dev(b)),
        (Flight(a), Dev(mut b)) => receiver!(a.enqueue_copy_to(&mut b), Flying, Dev(b)),
        (Dev(a), Host(b)) => operand!(Dev(a), a.enqueue_copy_to(b), Idle),
        (Dev(a), Flight(b)) => operand!(Dev(a), a.enqueue_copy_to(b), Flying),
        (Dev(a), Dev(mut b)) => neither!(Dev(a), a.enqueue_copy_to(&mut b), Dev(b)),
        (SharedDev(a), Host(b)) => operand!(SharedDev(a), a.enqueue_copy_to(b), Idle),
        (SharedDev(a), Flight(b)) => operand!(SharedDev(a), a.enqueue_copy_to(b), Flying),
        (SharedDev(a), Dev(mut b)) => neither!(SharedDev(a), a.enqueue_copy_to(&mut b), Dev(b)),
        other => return Err(other),
    })
}

/// `receiver.enqueue_copy_from(operand)`, likewise.
#[allow(clippy::result_large_err)] // as above
pub fn copy_from<T: Elem, S: StreamTag>(
    receiver: Real<T, S>,
    operand: Real<T, S>,
) -> Result<Done<T, S>, (Real<T, S>, Real<T, S>)> {
    Ok(match (receiver, operand) {
        (Host(a), Host(b)) => both!(a.enqueue_copy_from(b), Idle, Idle),
        (Host(a), Flight(b)) => both!(a.enqueue_copy_from(b), Idle, Flying),
        (Flight(a), Host(b)) => both!(a.enqueue_copy_from(b), Flying, Idle),
        (Flight(a), Flight(b)) => both!(a.enqueue_copy_from(b), Flying, Flying),
        (Host(a), Dev(b)) => receiver!(a.enqueue_copy_from(&b), Idle, Dev(b)),
        (Host(a), SharedHost(b)) => receiver!(a.enqueue_copy_from(&b), Idle, SharedHost(b)),
        (Host(a), SharedDev(b)) => receiver!(a.enqueue_copy_from(&b), Idle, SharedDev(b)),
        (Flight(a), Dev(b)) => receiver!(a.enqueue_copy_from(b.as_span()), Flying, Dev(b)),
        (Flight(a), SharedHost(b)) => receiver!(a.enqueue_copy_from(&b), Flying, SharedHost(b)),
        (Flight(a), SharedDev(b)) => receiver!(a.enqueue_copy_from(b.as_span()), Flying, SharedDev(b)),
        (Dev(mut a), Host(b)) => {
            let (done, b) = arms(a.enqueue_copy_from(b));
            let b = after(&done, true, b);
            (done, Dev(a), b)
        }
        (Dev(mut a), Flight(b)) => {
            let (done, b) = arms(a.enqueue_copy_from(b));
            (done, Dev(a), Flight(b))
        }
        (Dev(mut a), Dev(b)) => {
            let (done, ()) = arms(a.enqueue_copy_from(&b));
            (done, Dev(a), Dev(b))
        }
        (Dev(mut a), SharedHost(b)) => {
            let (done, ()) = arms(a.enqueue_copy_from(&b));
            (done, Dev(a), SharedHost(b))
        }
        (Dev(mut a), SharedDev(b)) => {
            let (done, ()) = arms(a.enqueue_copy_from(&b));
            (done, Dev(a), SharedDev(b))
        }
        (Raw(a), Host(b)) => match a.enqueue_copy_from(b) {
            Ok((a, b)) => (Ok(()), Dev(a), Flight(b)),
            Err(Fault { error, value: (a, b) }) => (Err(error), Raw(a), Host(b.synchronize().unwrap())),
        },
        (Raw(a), Flight(b)) => match a.enqueue_copy_from(b) {
            Ok((a, b)) => (Ok(()), Dev(a), Flight(b)),
            Err(Fault { error, value: (a, b) }) => (Err(error), Raw(a), Flight(b)),
        },
        (Raw(a), Dev(b)) => match a.enqueue_copy_from(&b) {
            Ok(a) => (Ok(()), Dev(a), Dev(b)),
            Err(Fault { error, value: a }) => (Err(error), Raw(a), Dev(b)),
        },
        (Raw(a), SharedHost(b)) => match a.enqueue_copy_from(&b) {
            Ok(a) => (Ok(()), Dev(a), SharedHost(b)),
            Err(Fault { error, value: a }) => (Err(error), Raw(a), SharedHost(b)),
        },
        (Raw(a), SharedDev(b)) => match a.enqueue_copy_from(&b) {
            Ok(a) => (Ok(()), Dev(a), SharedDev(b)),
            Err(Fault { error, value: a }) => (Err(error), Raw(a), SharedDev(b)),
        },
        other => return Err(other),
    })
}
