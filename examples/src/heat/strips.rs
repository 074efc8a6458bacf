//! Who has which rows, and how they get there and back.

use std::ops::Range;

use escrow::{DeviceBuffer, Error, ShmemContext, StreamTag};

/// The rows of a PE: all PEs have the same number of them, or one more.
///
/// ```
/// use escrow_examples::heat::rows_of;
/// assert_eq!([0, 1, 2].map(|pe| rows_of(pe, 3, 8)), [0..2, 2..5, 5..8]);
/// ```
pub fn rows_of(pe: usize, pes: usize, rows: usize) -> Range<usize> {
    pe * rows / pes..(pe + 1) * rows / pes
}

/// Elements of the largest strip.
fn longest(job: &ShmemContext<impl StreamTag>, width: usize, rows: usize) -> usize {
    rows.div_ceil(job.n_pes()) * width
}

/// The elements of a PE's strip in the whole field.
fn elements(pe: usize, job: &ShmemContext<impl StreamTag>, width: usize, rows: usize) -> Range<usize> {
    let own = rows_of(pe, job.n_pes(), rows);
    own.start * width..own.end * width
}

/// Each PE's strip of the field that PE 0 has. All PEs call it. **Blocks** on PE 0.
///
/// # Errors
/// Those of symmetric memory.
///
/// # Panics
/// If PE 0 has no field of `rows` rows.
pub fn scatter<S: StreamTag>(
    job: &ShmemContext<S>,
    field: Option<&[f32]>,
    width: usize,
    rows: usize,
) -> Result<DeviceBuffer<f32, S>, Error> {
    let ctx = job.context();
    let open = job.barrier_all(job.create_buffer_zeroed::<f32>(longest(job, width, rows))?)?;
    if job.my_pe() == 0 {
        let field = field.expect("PE 0 has the field");
        for pe in job.iter() {
            let strip = &field[elements(pe.rank(), job, width, rows)];
            // Plain memory of this device is enough where a put comes from.
            let strip = ctx.enqueue_create_buffer(strip.len())?.copy_from_slice(strip)?;
            job.put(&strip, &open.slice(..strip.len())?, pe)?;
        }
    }
    let came = job.barrier_all(open)?;
    let own = elements(job.my_pe(), job, width, rows).len();
    Ok(ctx.enqueue_create_buffer_from(&came.as_span().slice(..own)?)?)
}

/// The whole field on PE 0, from each PE's strip. All PEs call it. **Blocks** on PE 0.
///
/// # Errors
/// Those of symmetric memory.
pub fn gather<S: StreamTag>(
    job: &ShmemContext<S>,
    strip: &DeviceBuffer<f32, S>,
    width: usize,
    rows: usize,
) -> Result<Option<Vec<f32>>, Error> {
    let mut copy = job.create_buffer_zeroed::<f32>(longest(job, width, rows))?;
    copy.as_span_mut().slice(..strip.len())?.enqueue_copy_from(strip)?;
    let open = job.barrier_all(copy)?;
    let mut field = None;
    if job.my_pe() == 0 {
        let values = field.insert(vec![0.0; width * rows]);
        for pe in job.iter() {
            let place = &mut values[elements(pe.rank(), job, width, rows)];
            let mut strip = job.context().enqueue_create_buffer_zeroed::<f32>(place.len())?;
            job.get(&open.slice(..place.len())?, &mut strip, pe)?;
            strip.copy_to_slice(place)?;
        }
    }
    // Until PE 0 has read all of it, nobody goes on.
    drop(job.barrier_all(open)?);
    Ok(field)
}
