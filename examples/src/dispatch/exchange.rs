//! The way of the tokens.
//!
//! ```text
//! source                              PE of the experts
//! put vectors, put experts, p count
//! signal `sent`                  ->   wait for `sent` of all sources
//!                                     experts, slot by slot
//! wait for `answered` of all     <-   put results, signal `answered`
//! combine
//! ```
//!
//! A source sends again only when all PEs have answered it, and a PE answers a slot behind the kernel that read it, on one
//! stream; so a slot is written only when its reader is done, without a barrier.

use std::ops::Range;
use std::time::{Duration, Instant};

use escrow::shmem::{Add, Cmp, Sum};
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext, Signal, StreamTag};

use super::experts::{Experts, matrix};
use super::tokens::{Route, Token, vector};
use crate::heat::rows_of;

/// What to do. All PEs have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Experts of all PEs, at least 2.
    pub experts: usize,
    /// Elements of a token's vector, at least 1.
    pub dim: usize,
    /// How often all tokens go there and back.
    pub rounds: usize,
}

/// What came of it, on each PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Tokens of all PEs.
    pub tokens: usize,
    /// Elements, of all PEs and in all rounds, that differ from what one PE alone computes. There should be none.
    pub wrong: u64,
    /// What the rounds took, checks and all that the host does included.
    pub time: Duration,
    /// Bytes that all PEs put in all rounds.
    pub bytes: u64,
}

/// The PE of an expert, when each has `experts_of` its own.
fn pe_of(expert: usize, pes: usize, experts: usize) -> usize {
    (0..pes).find(|&pe| rows_of(pe, pes, experts).contains(&expert)).expect("every expert is somewhere")
}

/// What one PE sends to another one, in the order of its tokens.
#[derive(Debug, Default)]
struct Parcel {
    /// Elements of the vectors.
    vectors: Vec<f32>,
    /// The experts, counted on their PE.
    experts: Vec<u32>,
}

/// One PE's tokens on their way, packed.
struct Packed {
    parcels: Vec<Parcel>,
    /// For each token and each of its experts: which parcel, and which place there.
    places: Vec<[(usize, usize); 2]>,
    routes: Vec<Route>,
}

fn pack(tokens: &[Token], pes: usize, plan: &Plan) -> Packed {
    let mut parcels: Vec<Parcel> = (0..pes).map(|_| Parcel::default()).collect();
    let routes: Vec<Route> = tokens.iter().map(|&token| Route::new(token, plan.experts)).collect();
    let place = |(&token, route): (&Token, &Route)| {
        route.experts.map(|expert| {
            let pe = pe_of(expert, pes, plan.experts);
            let parcel = &mut parcels[pe];
            parcel.vectors.extend(vector(token, plan.dim));
            parcel.experts.push((expert - rows_of(pe, pes, plan.experts).start) as u32);
            (pe, parcel.experts.len() - 1)
        })
    };
    let places = tokens.iter().zip(&routes).map(place).collect();
    Packed { parcels, places, routes }
}

/// How memory is cut into slots, one for each PE.
#[derive(Clone, Copy)]
struct Shape {
    /// Vectors that fit a slot: all of a source, twice, may go to one PE.
    capacity: usize,
    /// Elements of a vector.
    dim: usize,
}

impl Shape {
    /// The first `count` places of a PE's slot.
    fn slot(self, pe: usize, count: usize) -> Range<usize> {
        pe * self.capacity..pe * self.capacity + count
    }

    /// Their elements.
    fn elements(self, pe: usize, count: usize) -> Range<usize> {
        let slot = self.slot(pe, count);
        slot.start * self.dim..slot.end * self.dim
    }
}

/// What comes to this PE's experts: a slot for each source.
struct Inbox<'job, S: StreamTag> {
    vectors: Exposed<ShmemBuffer<'job, f32, S>>,
    /// The expert of each of them.
    experts: Exposed<ShmemBuffer<'job, u32, S>>,
    /// How many there are in each slot.
    counts: Exposed<ShmemBuffer<'job, u32, S>>,
    /// One more for each source that has sent.
    sent: Signal<'job, Add, S>,
}

/// What comes back to this PE's tokens: a slot for each PE that has experts.
struct Answers<'job, S: StreamTag> {
    vectors: Exposed<ShmemBuffer<'job, f32, S>>,
    /// One more for each PE that has answered.
    answered: Signal<'job, Add, S>,
}

fn create_slots<S: StreamTag>(job: &ShmemContext<S>, shape: Shape) -> Result<(Inbox<'_, S>, Answers<'_, S>), Error> {
    let all = job.n_pes() * shape.capacity;
    let there = job.create_buffer_zeroed(all * shape.dim)?;
    let back = job.create_buffer_zeroed(all * shape.dim)?;
    let (experts, counts) = (job.create_buffer_zeroed(all)?, job.create_buffer_zeroed(job.n_pes())?);
    let (sent, answered) = (job.create_signal(Add)?, job.create_signal(Add)?);
    let (there, back, experts, counts) = job.barrier_all((there, back, experts, counts))?;
    Ok((Inbox { vectors: there, experts, counts, sent }, Answers { vectors: back, answered }))
}

/// A parcel in device memory.
struct Sendable<S: StreamTag> {
    vectors: DeviceBuffer<f32, S>,
    experts: DeviceBuffer<u32, S>,
}

/// Sends PE 0's tokens around: each PE gets a share of them, sends each to its two experts, and combines what comes back. All
/// PEs call it with the same plan. Returns `None` if PE 0 has none. **Blocks.**
///
/// # Errors
/// Those of symmetric memory and of launches.
pub fn run<S: StreamTag>(
    job: &ShmemContext<S>,
    tokens: Option<&[Token]>,
    plan: &Plan,
) -> Result<Option<Report>, Error> {
    let tokens = share_out(job, tokens)?;
    if tokens.is_empty() {
        return Ok(None);
    }
    let (me, pes, ctx) = (job.my_pe(), job.n_pes(), job.context());
    let own = &tokens[rows_of(me, pes, tokens.len())];
    let packed = pack(own, pes, plan);
    let expected = alone(own, plan);
    let upload = |parcel: &Parcel| -> Result<Sendable<S>, Error> {
        Ok(Sendable {
            vectors: ctx.enqueue_create_buffer(parcel.vectors.len())?.copy_from_slice(&parcel.vectors)?,
            experts: ctx.enqueue_create_buffer(parcel.experts.len())?.copy_from_slice(&parcel.experts)?,
        })
    };
    let parcels = packed.parcels.iter().map(upload).collect::<Result<Vec<_>, Error>>()?;

    let shape = Shape { capacity: 2 * tokens.len().div_ceil(pes), dim: plan.dim };
    let (mut inbox, mut answers) = create_slots(job, shape)?;
    let experts = Experts::new(ctx, rows_of(me, pes, plan.experts), plan.dim)?;
    let mut products = ctx.enqueue_create_buffer_zeroed::<f32>(pes * shape.capacity * shape.dim)?;
    let mut wrong = 0;
    let start = Instant::now();
    for round in 1..=plan.rounds as u64 {
        send(job, &inbox, &parcels, shape)?;
        inbox = answer(job, inbox, &answers, &experts, &mut products, shape, round)?;
        let came;
        (answers, came) = collect(job, answers, round)?;
        let combined = combine(&packed, &came, shape);
        wrong += combined.zip(&expected).filter(|(found, expected)| found.to_bits() != expected.to_bits()).count();
    }
    let time = start.elapsed();

    // There with an expert's number, and back; a count for each PE.
    let vectors: usize = parcels.iter().map(|parcel| parcel.experts.len()).sum();
    let bytes = plan.rounds * size_of::<u32>() * (vectors * (2 * plan.dim + 1) + pes);
    let mine = job.create_buffer::<u64>(2)?.copy_from_slice(&[wrong as u64, bytes as u64])?;
    let mut all = job.create_buffer_zeroed::<u64>(2)?;
    job.world().reduce(Sum, &mine, &mut all)?;
    let all = all.to_vec()?;
    Ok(Some(Report { tokens: tokens.len(), wrong: all[0], time, bytes: all[1] }))
}

/// PE 0's tokens on all PEs.
fn share_out<S: StreamTag>(job: &ShmemContext<S>, tokens: Option<&[Token]>) -> Result<Vec<Token>, Error> {
    let root = job.pe(0)?;
    let tokens = tokens.filter(|_| job.my_pe() == 0).unwrap_or(&[]);
    let count = job.create_buffer::<u64>(1)?.enqueue_fill(tokens.len() as u64)?;
    let mut len = job.create_buffer_zeroed::<u64>(1)?;
    job.world().broadcast(root, &count, &mut len)?;
    let len = len.to_vec()?[0] as usize;
    let mut mine = job.create_buffer_zeroed::<u64>(len)?;
    if job.my_pe() == 0 {
        mine.copy_from_slice(tokens)?;
    }
    let mut all = job.create_buffer_zeroed::<u64>(len)?;
    job.world().broadcast(root, &mine, &mut all)?;
    all.to_vec()
}

/// Puts each parcel into this PE's slot on the PE that it is for.
fn send<S: StreamTag>(
    job: &ShmemContext<S>,
    inbox: &Inbox<'_, S>,
    parcels: &[Sendable<S>],
    shape: Shape,
) -> Result<(), Error> {
    let me = job.my_pe();
    for (pe, parcel) in job.iter().zip(parcels) {
        let count = parcel.experts.len();
        job.put(&parcel.experts, &inbox.experts.slice(shape.slot(me, count))?, pe)?;
        job.p(count as u32, &inbox.counts, me, pe)?;
        // The signal comes behind all that this PE put there before.
        let place = inbox.vectors.slice(shape.elements(me, count))?;
        job.put_signal(&parcel.vectors, &place, pe, &inbox.sent, 1)?;
    }
    Ok(())
}

/// Lets this PE's experts work on what came, and puts the products where it came from.
fn answer<'job, S: StreamTag>(
    job: &'job ShmemContext<S>,
    inbox: Inbox<'job, S>,
    answers: &Answers<'job, S>,
    experts: &Experts<S>,
    products: &mut DeviceBuffer<f32, S>,
    shape: Shape,
    round: u64,
) -> Result<Inbox<'job, S>, Error> {
    let Inbox { vectors, experts: numbers, counts, sent } = inbox;
    sent.wait_until(Cmp::Ge, round * job.n_pes() as u64)?;
    // SAFETY: the stream waits for the signals of all sources, behind which all that they put has arrived. No source sends
    // again before this PE has answered it, and that is enqueued below, behind all that reads.
    let (vectors, numbers, counts) = unsafe { (vectors.assume_local(), numbers.assume_local(), counts.assume_local()) };
    for (source, count) in job.iter().zip(counts.to_vec()?) {
        let (slot, elements) =
            (shape.slot(source.rank(), count as usize), shape.elements(source.rank(), count as usize));
        experts.kernels.apply(
            job.context(),
            shape.dim as u32,
            experts.count as u32,
            &experts.matrices,
            &numbers.as_span().slice(slot)?,
            &vectors.as_span().slice(elements.clone())?,
            &mut products.as_span_mut().slice(elements.clone())?,
        )?;
        let place = answers.vectors.slice(shape.elements(job.my_pe(), count as usize))?;
        job.put_signal(&products.as_span().slice(elements)?, &place, source, &answers.answered, 1)?;
    }
    // SAFETY: this PE writes to others' copies when they have answered it, as above.
    let (vectors, experts, counts) =
        unsafe { (vectors.assume_exposed(), numbers.assume_exposed(), counts.assume_exposed()) };
    Ok(Inbox { vectors, experts, counts, sent })
}

/// All that came back, slot by slot.
fn collect<'job, S: StreamTag>(
    job: &'job ShmemContext<S>,
    answers: Answers<'job, S>,
    round: u64,
) -> Result<(Answers<'job, S>, Vec<f32>), Error> {
    let Answers { vectors, answered } = answers;
    answered.wait_until(Cmp::Ge, round * job.n_pes() as u64)?;
    // SAFETY: the stream waits for the signals of all PEs, behind which their products have arrived. No PE answers again
    // before this one has sent again, and that is enqueued behind the copy below.
    let vectors = unsafe { vectors.assume_local() };
    let came = vectors.to_vec()?;
    // SAFETY: this PE answers others when they have sent, and they do that behind their copy, as above.
    Ok((Answers { vectors: unsafe { vectors.assume_exposed() }, answered }, came))
}

/// The elements of the tokens' new vectors: their experts' products, weighted.
fn combine<'p>(packed: &'p Packed, came: &'p [f32], shape: Shape) -> impl Iterator<Item = f32> + 'p {
    packed.places.iter().zip(&packed.routes).flat_map(move |(places, route)| {
        let [first, second] = places.map(|(pe, place)| &came[shape.elements(pe, place + 1)][place * shape.dim..]);
        first.iter().zip(second).map(|(a, b)| route.weights[0] * a + route.weights[1] * b)
    })
}

/// The same without anybody's help, in plain loops.
fn alone(tokens: &[Token], plan: &Plan) -> Vec<f32> {
    let matrices: Vec<Vec<f32>> = (0..plan.experts).map(|expert| matrix(expert, plan.dim).collect()).collect();
    let mut combined = Vec::with_capacity(tokens.len() * plan.dim);
    for &token in tokens {
        let route = Route::new(token, plan.experts);
        let vector: Vec<f32> = vector(token, plan.dim).collect();
        for column in 0..plan.dim {
            let [first, second] = route.experts.map(|expert| {
                let mut sum = 0.0f32;
                for row in 0..plan.dim {
                    sum += vector[row] * matrices[expert][row * plan.dim + column];
                }
                sum.max(0.0)
            });
            combined.push(route.weights[0] * first + route.weights[1] * second);
        }
    }
    combined
}
