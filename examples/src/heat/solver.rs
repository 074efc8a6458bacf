//! The steps of a job.

use std::mem;
use std::time::{Duration, Instant};

use escrow::shmem::Max;
use escrow::{DeviceBuffer, Error, ShmemBuffer, ShmemContext, StreamTag};

use super::field::{Field, Held, Plate};
use super::kernels::HeatKernels;
use super::strips::{gather, rows_of, scatter};

/// How long to go on. All PEs have the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Steps at most.
    pub steps: usize,
    /// The change is looked at every so many steps, and after the last one. At least 1.
    pub check: usize,
    /// With this, the first change that is looked at and is not above it ends the job.
    pub tolerance: Option<f32>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { steps: 2000, check: 100, tolerance: None }
    }
}

/// What PE 0 has in the end.
#[derive(Clone, Debug)]
pub struct End {
    /// The temperatures.
    pub field: Field,
    /// Steps that were made.
    pub steps: usize,
    /// The largest change of a point in the last step; 0 if there was none.
    pub change: f32,
    /// What the steps took.
    pub time: Duration,
    /// Bytes that a PE read and wrote, the one with the most rows: each point's old and new value and whether it is held.
    pub bytes_per_pe: usize,
}

/// What PE 0 tells the others, as words.
#[derive(Clone, Copy, Debug)]
struct Order {
    width: usize,
    rows: usize,
    held: Held,
}

impl Order {
    const WORDS: usize = 5;

    fn words(order: Option<Order>) -> [u64; Order::WORDS] {
        let Some(Order { width, rows, held }) = order else { return [0; Order::WORDS] };
        let (extremes, [cold, hot]) = match held {
            Held::Edges => (0, [0; 2]),
            Held::Extremes(range) => (1, range.map(|value| value.to_bits().into())),
        };
        [width as u64, rows as u64, extremes, cold, hot]
    }

    fn read(words: &[u64]) -> Option<Order> {
        let value = |word: u64| f32::from_bits(word as u32);
        let held = if words[2] == 0 { Held::Edges } else { Held::Extremes([value(words[3]), value(words[4])]) };
        (words[0] > 0).then_some(Order { width: words[0] as usize, rows: words[1] as usize, held })
    }
}

/// Heats PE 0's plate, row by row over all PEs, and returns the end on PE 0. If PE 0 has none, nothing is done. All PEs call
/// it, with the same plan. `watch` is called on each PE with the steps so far and their last change. **Blocks.**
///
/// The result has the same bits for every number of PEs, on every engine and device.
///
/// # Errors
/// Those of symmetric memory and of launches.
///
/// # Panics
/// If there are more PEs than rows.
pub fn run<S: StreamTag>(
    job: &ShmemContext<S>,
    plate: Option<&Plate>,
    plan: &Plan,
    mut watch: impl FnMut(usize, f32),
) -> Result<Option<End>, Error> {
    let plate = plate.filter(|_| job.my_pe() == 0);
    let Some(order) = announce(job, plate)? else { return Ok(None) };
    let Order { width, rows, .. } = order;
    assert!(rows >= job.n_pes(), "{} PEs for {rows} rows", job.n_pes());

    let ctx = job.context();
    let kernels = HeatKernels::load(ctx.device())?;
    let mut field = scatter(job, plate.map(|plate| plate.field.values()), width, rows)?;
    let mut next = ctx.enqueue_create_buffer_from(&field)?;
    let held = mark(job, &field, &order)?;
    let up = (job.my_pe() > 0).then(|| job.previous());
    let down = (job.my_pe() + 1 < job.n_pes()).then(|| job.next());

    // The neighbours' rows, above and below: those of this step are local, those of the next one on their way.
    let mut halo = job.create_buffer_zeroed::<f32>(2 * width)?;
    let mut open = job.barrier_all(job.create_buffer_zeroed::<f32>(2 * width)?)?;
    let mut largest = Largest::new(job, width)?;
    let (mut steps, mut change) = (0, 0.0);
    ctx.synchronize(())?;
    let start = Instant::now();
    while steps < plan.steps {
        let (above, below) = open.as_span().split_at(width)?;
        if let Some(up) = up {
            job.put(&field.as_span().slice(..width)?, &below, up)?;
        }
        if let Some(down) = down {
            job.put(&field.as_span().slice(field.len() - width..)?, &above, down)?;
        }
        // What came is local, and what the last step read is open for the next one.
        (open, halo) = job.barrier_all((halo, open))?;
        let (above, below) = halo.as_span().split_at(width)?;
        kernels.step(ctx, width as u32, &above, &field, &below, &held, &mut next)?;
        mem::swap(&mut field, &mut next);
        steps += 1;
        if steps.is_multiple_of(plan.check) || steps == plan.steps {
            change = largest.change(job, &kernels, &next, &field)?;
            watch(steps, change);
            // All PEs have the same change, so all of them leave here.
            if plan.tolerance.is_some_and(|tolerance| change <= tolerance) {
                break;
            }
        }
    }
    ctx.synchronize(())?;
    let time = start.elapsed();

    let values = gather(job, &field, width, rows)?;
    let points = rows.div_ceil(job.n_pes()) * width;
    let bytes_per_pe = points * (2 * size_of::<f32>() + size_of::<u8>()) * steps;
    Ok(values.map(|values| End { field: Field::new(width, values), steps, change, time, bytes_per_pe }))
}

/// What PE 0 has to do, on all PEs.
fn announce<S: StreamTag>(job: &ShmemContext<S>, plate: Option<&Plate>) -> Result<Option<Order>, Error> {
    let order = plate.map(|Plate { field, held }| Order { width: field.width(), rows: field.rows(), held: *held });
    let mine = job.create_buffer::<u64>(Order::WORDS)?.copy_from_slice(&Order::words(order))?;
    let mut all = job.create_buffer_zeroed::<u64>(Order::WORDS)?;
    job.world().broadcast(job.pe(0)?, &mine, &mut all)?;
    Ok(Order::read(&all.to_vec()?))
}

/// Which points of this PE's rows are held.
fn mark<S: StreamTag>(
    job: &ShmemContext<S>,
    strip: &DeviceBuffer<f32, S>,
    order: &Order,
) -> Result<DeviceBuffer<u8, S>, Error> {
    let Order { width, rows, held } = *order;
    let first = rows_of(job.my_pe(), job.n_pes(), rows).start;
    let mark = |(i, value): (usize, f32)| {
        let (row, column) = (first + i / width, i % width);
        let edge = row == 0 || row == rows - 1 || column == 0 || column == width - 1;
        u8::from(edge || held.holds(value))
    };
    let marks: Vec<u8> = strip.to_vec()?.into_iter().enumerate().map(mark).collect();
    Ok(job.context().enqueue_create_buffer(marks.len())?.copy_from_slice(&marks)?)
}

/// Memory to find the largest change of all PEs.
struct Largest<'job, S: StreamTag> {
    here: ShmemBuffer<'job, f32, S>,
    all: ShmemBuffer<'job, f32, S>,
}

impl<'job, S: StreamTag> Largest<'job, S> {
    fn new(job: &'job ShmemContext<S>, width: usize) -> Result<Self, Error> {
        Ok(Largest { here: job.create_buffer_zeroed(width)?, all: job.create_buffer_zeroed(width)? })
    }

    /// The largest change of a point from `old` to `new`: a maximum has no rounding, so no order matters.
    fn change(
        &mut self,
        job: &'job ShmemContext<S>,
        kernels: &HeatKernels,
        old: &DeviceBuffer<f32, S>,
        new: &DeviceBuffer<f32, S>,
    ) -> Result<f32, Error> {
        kernels.change(job.context(), old, new, &mut self.here)?;
        job.world().reduce(Max, &self.here, &mut self.all)?;
        Ok(self.all.to_vec()?.into_iter().fold(0.0, f32::max))
    }
}
