//! Random programs, the same on all PEs, against a sequential model of all PEs' memories.
//!
//! Within a phase a program makes no two remote accesses that conflict, so what it computes is determined.

use escrow::{Device, DeviceBuffer, Dyn, Error, Exposed, ShmemBuffer, ShmemContext, Team, shmem};

use escrow_tests::fail;

use super::{in_time, local, plain, quiet_panic};

escrow::teams! { Even }

/// Elements of a buffer: a multiple of each number of PEs.
const LEN: usize = 12;
const BUFFERS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn range(&mut self) -> (usize, usize) {
        let start = self.below(LEN);
        (start, start + self.below(LEN - start + 1))
    }
}

/// One step, as all PEs make it. PE `p` puts to and gets from PE `p + by`.
#[derive(Clone, Debug)]
enum Step {
    /// With another value on each PE.
    Fill {
        buffer: usize,
        value: u32,
    },
    /// `None` is the plain device buffer.
    Copy {
        dst: Option<usize>,
        src: Option<usize>,
    },
    Flip {
        buffers: Vec<usize>,
        swap: bool,
    },
    Put {
        src: Option<usize>,
        dst: usize,
        range: (usize, usize),
        by: usize,
    },
    Get {
        src: usize,
        dst: Option<usize>,
        range: (usize, usize),
        by: usize,
    },
    P {
        dst: usize,
        index: usize,
        value: u32,
        by: usize,
    },
    Broadcast {
        root: usize,
        src: usize,
        dst: usize,
    },
    Alltoall {
        src: usize,
        dst: usize,
    },
    Sum {
        src: usize,
        dst: usize,
        even: bool,
    },
    /// In another order on each PE; new ones take their places.
    Renew {
        buffers: (usize, usize),
    },
    Check,
}

/// What a phase has seen of an exposed buffer: ranges, which neighbour, and whether it was written.
type Seen = Vec<((usize, usize), usize, bool)>;

/// A program without conflicts.
fn program(random: &mut Random, pes: usize, steps: usize) -> Vec<Step> {
    let mut exposed = [false; BUFFERS];
    let mut seen: Vec<Seen> = vec![Vec::new(); BUFFERS];
    let mut program = Vec::new();
    while program.len() < steps {
        let (a, b) = (random.below(BUFFERS), random.below(BUFFERS));
        let own = |n: usize| if n < BUFFERS && !exposed[n] { Some(n) } else { None };
        let (range, by) = (random.range(), random.below(pes));
        let mut free = |buffer: usize, range: (usize, usize), write: bool| {
            let overlaps = |other: (usize, usize)| other.0 < range.1 && range.0 < other.1;
            let fits = seen[buffer].iter().all(|&(other, to, wrote)| !overlaps(other) || to == by || !(wrote || write));
            if fits {
                seen[buffer].push((range, by, write));
            }
            fits
        };
        let step = match random.below(14) {
            0 if !exposed[a] => Step::Fill { buffer: a, value: random.below(1 << 20) as u32 },
            1 => {
                let (dst, src) = (own(random.below(BUFFERS + 1)), own(random.below(BUFFERS + 1)));
                if dst == src {
                    continue;
                }
                Step::Copy { dst, src }
            }
            2 | 3 => {
                let swap = a != b && !exposed[a] && exposed[b] && random.below(2) == 0;
                let mut buffers = if swap { vec![a, b] } else { vec![a] };
                if !swap && random.below(2) == 0 && b != a {
                    buffers.push(b);
                }
                if !swap {
                    for &buffer in &buffers {
                        exposed[buffer] = !exposed[buffer];
                    }
                } // else the fields have changed places
                // A barrier ends the phase of all, also of those that it does not flip.
                seen.iter_mut().for_each(Vec::clear);
                Step::Flip { buffers, swap }
            }
            4..=6 if exposed[a] && free(a, range, true) => {
                Step::Put { src: own(random.below(BUFFERS + 1)), dst: a, range, by }
            }
            7 | 8 if exposed[a] && free(a, range, false) => {
                Step::Get { src: a, dst: own(random.below(BUFFERS + 1)), range, by }
            }
            9 if exposed[a] && free(a, (range.0, range.0 + 1), true) => {
                Step::P { dst: a, index: range.0, value: random.below(1 << 20) as u32, by }
            }
            10 if a != b && !exposed[a] && !exposed[b] => match random.below(4) {
                0 => Step::Broadcast { root: by, src: a, dst: b },
                1 => Step::Alltoall { src: a, dst: b },
                2 => Step::Sum { src: a, dst: b, even: false },
                _ => Step::Sum { src: a, dst: b, even: true },
            },
            11 if a != b && !exposed[a] && !exposed[b] => Step::Renew { buffers: (a, b) },
            12 => Step::Check,
            _ => continue,
        };
        program.push(step);
    }
    program
}

/// All memories: of each PE the symmetric buffers, and behind them the plain one.
type Memory = Vec<Vec<Vec<u32>>>;

fn value_of(value: u32, pe: usize) -> u32 {
    value.wrapping_mul(pe as u32 + 1)
}

/// What a step does, and what each PE then has.
fn apply(step: &Step, all: &mut Memory) {
    let pes = all.len();
    let before = all.clone();
    let place = |of: Option<usize>| of.unwrap_or(BUFFERS);
    for pe in 0..pes {
        match *step {
            Step::Fill { buffer, value } => all[pe][buffer].fill(value_of(value, pe)),
            Step::Copy { dst, src } => all[pe][place(dst)].clone_from(&before[pe][place(src)]),
            Step::Flip { ref buffers, swap: true } => all[pe].swap(buffers[0], buffers[1]),
            Step::Put { src, dst, range: (start, end), by } => {
                all[(pe + by) % pes][dst][start..end].copy_from_slice(&before[pe][place(src)][start..end]);
            }
            Step::Get { src, dst, range: (start, end), by } => {
                all[pe][place(dst)][start..end].copy_from_slice(&before[(pe + by) % pes][src][start..end]);
            }
            Step::P { dst, index, value, by } => all[(pe + by) % pes][dst][index] = value_of(value, pe),
            Step::Broadcast { root, src, dst } => all[pe][dst].clone_from(&before[root][src]),
            Step::Alltoall { src, dst } => {
                let part = LEN / pes;
                for from in 0..pes {
                    let there = &before[from][src][pe * part..][..part];
                    all[pe][dst][from * part..][..part].copy_from_slice(there);
                }
            }
            Step::Sum { even: true, .. } if pe % 2 == 1 => {}
            Step::Sum { src, dst, even } => {
                for at in 0..LEN {
                    let from = (0..pes).step_by(if even { 2 } else { 1 });
                    all[pe][dst][at] = from.fold(0, |sum, from| sum.wrapping_add(before[from][src][at]));
                }
            }
            Step::Renew { buffers } => {
                all[pe][buffers.0].fill(0);
                all[pe][buffers.1].fill(1);
            }
            Step::Flip { .. } | Step::Check => {}
        }
    }
}

enum Slot<'job> {
    Mine(ShmemBuffer<'job, u32>),
    Open(Exposed<ShmemBuffer<'job, u32>>),
    Gone,
}

struct Pe<'job> {
    job: &'job ShmemContext,
    slots: Vec<Slot<'job>>,
    plain: DeviceBuffer<u32>,
    even: Option<Team<'job, Even>>,
}

impl<'job> Pe<'job> {
    /// With these elements in its buffers.
    fn new(job: &'job ShmemContext, values: &[Vec<u32>]) -> Result<Self, Error> {
        let mut slots = Vec::new();
        for values in &values[..BUFFERS] {
            slots.push(Slot::Mine(local(job, values)?));
        }
        let even = job.world().split_strided(Even, 0, 2, job.n_pes().div_ceil(2))?;
        Ok(Pe { job, slots, plain: plain(job, &values[BUFFERS])?, even })
    }

    fn take(&mut self, at: usize) -> Slot<'job> {
        std::mem::replace(&mut self.slots[at], Slot::Gone)
    }

    fn mine(&mut self, at: usize) -> &mut ShmemBuffer<'job, u32> {
        let Slot::Mine(buffer) = &mut self.slots[at] else { panic!("the program knows that it is local") };
        buffer
    }

    fn open(&self, at: usize) -> &Exposed<ShmemBuffer<'job, u32>> {
        let Slot::Open(buffer) = &self.slots[at] else { panic!("the program knows that it is exposed") };
        buffer
    }

    fn flip(&mut self, buffers: &[usize], swap: bool) -> Result<(), Error> {
        let mut taken: Vec<Slot<'job>> = buffers.iter().map(|&at| self.take(at)).collect();
        if swap {
            let (Some(Slot::Open(mut open)), Some(Slot::Mine(mut mine))) = (taken.pop(), taken.pop()) else {
                panic!("a swap is of one that is local and one that is exposed")
            };
            self.job.barrier_swap(&mut mine, &mut open)?;
            (self.slots[buffers[0]], self.slots[buffers[1]]) = (Slot::Mine(mine), Slot::Open(open));
            return Ok(());
        }
        let second = if taken.len() == 2 { taken.pop() } else { None };
        let (a, b) = match (taken.remove(0), second) {
            (Slot::Mine(a), None) => (Slot::Open(self.job.barrier_all(a)?), None),
            (Slot::Open(a), None) => (Slot::Mine(self.job.barrier_all([a])?.into_iter().next().unwrap()), None),
            (Slot::Mine(a), Some(Slot::Mine(b))) => {
                let both = self.job.barrier_all(vec![a, b])?;
                let mut both = both.into_iter().map(Slot::Open);
                (both.next().unwrap(), both.next())
            }
            (Slot::Mine(a), Some(Slot::Open(b))) => {
                let (a, b) = self.job.barrier_all((a, b))?;
                (Slot::Open(a), Some(Slot::Mine(b)))
            }
            (Slot::Open(a), Some(Slot::Mine(b))) => {
                let (a, b) = self.job.barrier_all((a, b))?;
                (Slot::Mine(a), Some(Slot::Open(b)))
            }
            (Slot::Open(a), Some(Slot::Open(b))) => {
                let [a, b] = self.job.barrier_all([a, b])?;
                (Slot::Mine(a), Some(Slot::Mine(b)))
            }
            _ => panic!("buffers are there"),
        };
        self.slots[buffers[0]] = a;
        if let Some(b) = b {
            self.slots[buffers[1]] = b;
        }
        Ok(())
    }

    fn run(&mut self, step: &Step) -> Result<(), Error> {
        let job = self.job;
        let (me, n, world) = (job.my_pe(), job.n_pes(), job.world());
        let pe = |by: usize| job.pe((me + by) % n);
        match *step {
            Step::Fill { buffer, value } => self.mine(buffer).enqueue_fill(value_of(value, me))?,
            Step::Copy { dst: Some(dst), src: Some(src) } => {
                let mut to = self.take(dst);
                let Slot::Mine(buffer) = &mut to else { panic!("local") };
                buffer.enqueue_copy_from(&*self.mine(src))?;
                self.slots[dst] = to;
            }
            Step::Copy { dst: Some(dst), src: None } => {
                let Slot::Mine(buffer) = &mut self.slots[dst] else { panic!("local") };
                buffer.enqueue_copy_from(&self.plain)?;
            }
            Step::Copy { dst: None, src: Some(src) } => {
                let Slot::Mine(buffer) = &self.slots[src] else { panic!("local") };
                self.plain.enqueue_copy_from(buffer)?;
            }
            Step::Copy { dst: None, src: None } | Step::Check => {}
            Step::Flip { ref buffers, swap } => self.flip(buffers, swap)?,
            Step::Put { src, dst, range: (start, end), by } => {
                let to = self.open(dst).slice(start..end)?;
                match src.map(|src| &self.slots[src]) {
                    Some(Slot::Mine(src)) => job.put(&src.as_span().slice(start..end)?, &to, pe(by)?)?,
                    _ => job.put(&self.plain.as_span().slice(start..end)?, &to, pe(by)?)?,
                }
            }
            Step::Get { src, dst: Some(dst), range: (start, end), by } => {
                let mut to = self.take(dst);
                let Slot::Mine(buffer) = &mut to else { panic!("local") };
                let from = self.open(src).slice(start..end)?;
                job.get(&from, &mut buffer.as_span_mut().slice(start..end)?, pe(by)?)?;
                self.slots[dst] = to;
            }
            Step::Get { src, dst: None, range: (start, end), by } => {
                let Slot::Open(from) = &self.slots[src] else { panic!("exposed") };
                let mut to = self.plain.as_span_mut().slice(start..end)?;
                job.get(&from.slice(start..end)?, &mut to, pe(by)?)?;
            }
            Step::P { dst, index, value, by } => job.p(value_of(value, me), self.open(dst), index, pe(by)?)?,
            Step::Broadcast { src, dst, .. } | Step::Alltoall { src, dst } | Step::Sum { src, dst, .. } => {
                let mut to = self.take(dst);
                let Slot::Mine(into) = &mut to else { panic!("local") };
                let Slot::Mine(from) = &self.slots[src] else { panic!("local") };
                match *step {
                    Step::Broadcast { root, .. } => world.broadcast(job.pe(root)?, from, into)?,
                    Step::Alltoall { .. } => world.alltoall(from, into)?,
                    Step::Sum { even: false, .. } => world.reduce(shmem::Sum, from, into)?,
                    _ => {
                        if let Some(even) = &self.even {
                            even.reduce(shmem::Sum, from, into)?;
                        }
                    }
                }
                self.slots[dst] = to;
            }
            Step::Renew { buffers: (a, b) } => {
                let (first, second) = (self.take(a), self.take(b));
                // Not in one order on all PEs.
                if me % 2 == 0 {
                    drop(first);
                    drop(second);
                } else {
                    drop(second);
                    drop(first);
                }
                self.slots[a] = Slot::Mine(job.create_buffer_zeroed(LEN)?);
                self.slots[b] = Slot::Mine(job.create_buffer(LEN)?.enqueue_fill(1)?);
            }
        }
        Ok(())
    }

    /// The local buffers and the plain one are what the model says.
    fn check(&self, model: &[Vec<u32>], done: &[Step]) -> Result<(), Error> {
        for (at, slot) in self.slots.iter().enumerate() {
            if let Slot::Mine(buffer) = slot {
                assert_eq!(buffer.to_vec()?, model[at], "buffer {at} of PE {} behind {done:#?}", self.job.my_pe());
            }
        }
        assert_eq!(self.plain.to_vec()?, model[BUFFERS], "plain buffer of PE {} behind {done:#?}", self.job.my_pe());
        Ok(())
    }
}

fn start_of(pe: usize) -> Vec<Vec<u32>> {
    (0..=BUFFERS).map(|at| (0..LEN).map(|i| (pe * 1000 + at * 100 + i) as u32).collect()).collect()
}

fn run(seed: u64, device: Device, pes: usize) {
    let steps = program(&mut Random(seed), pes, 60);
    let mut pictures: Vec<Memory> = vec![(0..pes).map(start_of).collect()];
    for step in &steps {
        let mut next = pictures.last().unwrap().clone();
        apply(step, &mut next);
        pictures.push(next);
    }
    shmem::launch_on(Dyn, device, pes, |job| {
        let me = job.my_pe();
        let mut pe = Pe::new(job, &pictures[0][me])?;
        for (at, step) in steps.iter().enumerate() {
            pe.run(step)?;
            if matches!(step, Step::Check) {
                pe.check(&pictures[at + 1][me], &steps[..=at])?;
            }
        }
        // The end: everything is local again.
        job.barrier_all(())?;
        let exposed: Vec<usize> = (0..BUFFERS).filter(|&at| matches!(pe.slots[at], Slot::Open(_))).collect();
        for at in exposed {
            pe.flip(&[at], false)?;
        }
        pe.check(&pictures[steps.len()][me], &steps)
    })
    .unwrap_or_else(|error| panic!("seed {seed}, {pes} PEs: {error}"));
}

#[test]
fn random_programs() {
    for seed in 0..60 {
        run(seed, Device::cpu(), 1 + seed as usize % 4);
    }
}

#[test]
fn random_programs_under_chaos() {
    for seed in 100..140 {
        run(seed, Device::cpu_chaos(seed), 1 + seed as usize % 4);
    }
}

/// One PE fails somewhere, in some way: the job ends with an error, and hangs nowhere.
fn run_and_fail(seed: u64, device: Device, pes: usize) {
    let mut random = Random(seed);
    let steps = program(&mut random, pes, 40);
    let (victim, when, way) = (random.below(pes), random.below(steps.len()), random.below(5));
    let result = in_time(move || {
        shmem::launch_on(Dyn, device, pes, |job| {
            let mut pe = Pe::new(job, &start_of(job.my_pe()))?;
            for (at, step) in steps.iter().enumerate() {
                if job.my_pe() == victim && at == when {
                    match way {
                        0 => quiet_panic("somewhere"),
                        1 => return Err(job.pe(usize::MAX).unwrap_err()),
                        2 => fail(job.context())?,
                        3 => return Ok(()),
                        _ => continue, // goes on with the next step
                    }
                }
                pe.run(step)?;
                if matches!(step, Step::Check) {
                    pe.plain.to_vec()?;
                }
            }
            job.barrier_all(())?;
            Ok(job.context().synchronize(())?)
        })
    });
    // Without the others nobody misses a PE that ends early; a step that is left out may have been this PE's own affair.
    let may_pass = way == 4 || (way == 3 && pes == 1);
    assert!(result.is_err() || may_pass, "seed {seed}, {pes} PEs, way {way}");
}

#[test]
fn random_programs_that_fail() {
    for seed in 0..60 {
        run_and_fail(seed, Device::cpu(), 1 + seed as usize % 4);
        run_and_fail(seed + 1000, Device::cpu_chaos(seed), 1 + seed as usize % 4);
    }
}
