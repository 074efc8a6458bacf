//! Copies in all combinations of receiver and operand.

use escrow::{Error, Fault, StreamTag};

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

/// A result with both host operands in flight.
macro_rules! both {
    ($call:expr) => {{
        let (done, (a, b)) = arms($call);
        (done, Flight(a), Flight(b))
    }};
}

/// A result with the receiver in flight; the operand was borrowed.
macro_rules! receiver {
    ($call:expr, $operand:expr) => {{
        let (done, a) = arms($call);
        (done, Flight(a), $operand)
    }};
}

/// A result with the operand in flight; the receiver was borrowed.
macro_rules! operand {
    ($receiver:expr, $call:expr) => {{
        let (done, b) = arms($call);
        (done, $receiver, Flight(b))
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
pub fn copy_to<T: Elem, S: StreamTag>(
    receiver: Real<T, S>,
    operand: Real<T, S>,
) -> Result<Done<T, S>, (Real<T, S>, Real<T, S>)> {
    Ok(match (receiver, operand) {
        (Host(a), Host(b)) => both!(a.enqueue_copy_to(b)),
        (Host(a), Flight(b)) => both!(a.enqueue_copy_to(b)),
        (Flight(a), Host(b)) => both!(a.enqueue_copy_to(b)),
        (Flight(a), Flight(b)) => both!(a.enqueue_copy_to(b)),
        (Host(a), Dev(mut b)) => receiver!(a.enqueue_copy_to(&mut b), Dev(b)),
        (Flight(a), Dev(mut b)) => receiver!(a.enqueue_copy_to(&mut b), Dev(b)),
        (Dev(a), Host(b)) => operand!(Dev(a), a.enqueue_copy_to(b)),
        (Dev(a), Flight(b)) => operand!(Dev(a), a.enqueue_copy_to(b)),
        (Dev(a), Dev(mut b)) => neither!(Dev(a), a.enqueue_copy_to(&mut b), Dev(b)),
        (SharedDev(a), Host(b)) => operand!(SharedDev(a), a.enqueue_copy_to(b)),
        (SharedDev(a), Flight(b)) => operand!(SharedDev(a), a.enqueue_copy_to(b)),
        (SharedDev(a), Dev(mut b)) => neither!(SharedDev(a), a.enqueue_copy_to(&mut b), Dev(b)),
        other => return Err(other),
    })
}

/// `receiver.enqueue_copy_from(operand)`, likewise.
pub fn copy_from<T: Elem, S: StreamTag>(
    receiver: Real<T, S>,
    operand: Real<T, S>,
) -> Result<Done<T, S>, (Real<T, S>, Real<T, S>)> {
    Ok(match (receiver, operand) {
        (Host(a), Host(b)) => both!(a.enqueue_copy_from(b)),
        (Host(a), Flight(b)) => both!(a.enqueue_copy_from(b)),
        (Flight(a), Host(b)) => both!(a.enqueue_copy_from(b)),
        (Flight(a), Flight(b)) => both!(a.enqueue_copy_from(b)),
        (Host(a), Dev(b)) => receiver!(a.enqueue_copy_from(&b), Dev(b)),
        (Host(a), SharedHost(b)) => receiver!(a.enqueue_copy_from(&b), SharedHost(b)),
        (Host(a), SharedDev(b)) => receiver!(a.enqueue_copy_from(&b), SharedDev(b)),
        (Flight(a), Dev(b)) => receiver!(a.enqueue_copy_from(b.as_span()), Dev(b)),
        (Flight(a), SharedHost(b)) => receiver!(a.enqueue_copy_from(&b), SharedHost(b)),
        (Flight(a), SharedDev(b)) => receiver!(a.enqueue_copy_from(b.as_span()), SharedDev(b)),
        (Dev(mut a), Host(b)) => {
            let (done, b) = arms(a.enqueue_copy_from(b));
            (done, Dev(a), Flight(b))
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
            Err(Fault { error, value: (a, b) }) => (Err(error), Raw(a), Flight(b)),
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
