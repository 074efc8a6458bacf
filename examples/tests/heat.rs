//! The heat solver against plain loops: equal to the last bit, for any number of PEs and in any order.

mod common;

use common::Numbers;
use escrow::{Device, Dyn, Error, shmem};
use escrow_examples::heat::{End, Field, Held, Plan, Plate, rows_of, run};

/// Temperatures from 0 to 1, some of them exactly that.
fn any_field(numbers: &mut Numbers, width: usize, rows: usize) -> Field {
    let mut value = || match numbers.next() {
        x if x.is_multiple_of(16) => 0.0,
        x if x % 16 == 1 => 1.0,
        x => (x >> 40) as f32 / (1 << 24) as f32,
    };
    Field::new(width, (0..width * rows).map(|_| value()).collect())
}

/// The steps as one writes them down. Returns the field, the steps made, and the last change that was looked at.
fn reference(plate: &Plate, plan: &Plan) -> (Vec<f32>, usize, f32) {
    let (width, rows) = (plate.field.width(), plate.field.rows());
    let start = plate.field.values().to_vec();
    let mut old = start.clone();
    let mut change = 0.0;
    for step in 1..=plan.steps {
        let mut new = old.clone();
        let mut largest = 0.0f32;
        for y in 1..rows.saturating_sub(1) {
            for x in 1..width.saturating_sub(1) {
                let at = |x: usize, y: usize| old[y * width + x];
                if !plate.held.holds(start[y * width + x]) {
                    let mean = 0.25 * ((at(x, y - 1) + at(x, y + 1)) + (at(x - 1, y) + at(x + 1, y)));
                    new[y * width + x] = mean;
                    largest = largest.max((mean - at(x, y)).abs());
                }
            }
        }
        old = new;
        if step % plan.check == 0 || step == plan.steps {
            change = largest;
            if plan.tolerance.is_some_and(|tolerance| change <= tolerance) {
                return (old, step, change);
            }
        }
    }
    (old, plan.steps, change)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The end on PE 0, and what each PE was shown.
fn solved(device: &Device, pes: usize, plate: &Plate, plan: &Plan) -> (End, Vec<Vec<(usize, f32)>>) {
    let ends = shmem::launch_on(Dyn, device.clone(), pes, |job| {
        let mut shown = Vec::new();
        let mine = (job.my_pe() == 0).then_some(plate);
        let end = run(job, mine, plan, |steps, change| shown.push((steps, change)))?;
        assert_eq!(end.is_some(), job.my_pe() == 0);
        Ok((end, shown))
    });
    let (mut ends, shown): (Vec<_>, Vec<_>) = ends.unwrap().into_iter().unzip();
    (ends.swap_remove(0).unwrap(), shown)
}

fn compare(device: &Device, pes: usize, plate: &Plate, plan: &Plan) {
    let (values, steps, change) = reference(plate, plan);
    let (end, shown) = solved(device, pes, plate, plan);
    let what = format!("{} x {}, {:?}, {pes} PEs, {plan:?}", plate.field.width(), plate.field.rows(), plate.held);
    assert!(bits(end.field.values()) == bits(&values), "{what}");
    assert_eq!((end.steps, end.change.to_bits()), (steps, change.to_bits()), "{what}");
    assert!(shown.iter().all(|of_pe| *of_pe == shown[0]), "{what}: not all PEs were shown the same");
    assert_eq!(shown[0].last().copied(), (steps > 0).then_some((steps, change)), "{what}");
}

#[test]
fn every_shape_and_number_of_pes() {
    let mut numbers = Numbers(1);
    for (width, rows) in [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (4, 4), (17, 11), (64, 5), (130, 33), (5, 64)] {
        for held in [Held::Edges, Held::Extremes([0.0, 1.0]), Held::Extremes([0.25, 0.75])] {
            let plate = Plate { field: any_field(&mut numbers, width, rows), held };
            for steps in [0, 1, 2, 37] {
                let plan = Plan { steps, check: 5, tolerance: None };
                for pes in (1..=rows.min(4)).chain([rows.min(7)]) {
                    compare(&Device::cpu(), pes, &plate, &plan);
                }
            }
        }
    }
}

#[test]
fn streams_that_overtake_each_other() {
    let mut numbers = Numbers(2);
    let plate = Plate { field: any_field(&mut numbers, 33, 14), held: Held::Extremes([0.0, 1.0]) };
    for seed in 0..6 {
        compare(&Device::cpu_chaos(seed), 3, &plate, &Plan { steps: 20, check: 7, tolerance: None });
    }
}

#[test]
fn all_stop_at_one_step() {
    let mut numbers = Numbers(3);
    let plate = Plate { field: any_field(&mut numbers, 24, 20), held: Held::Edges };
    for tolerance in [1e-1, 1e-3, 1e-5, 0.0] {
        let plan = Plan { steps: 3000, check: 10, tolerance: Some(tolerance) };
        let stops = reference(&plate, &plan).1;
        // Rounding can let the last bits go to and fro for ever.
        assert!(stops < 3000 || tolerance == 0.0, "{tolerance}: {stops}");
        for pes in 1..=4 {
            compare(&Device::cpu(), pes, &plate, &plan);
        }
    }
}

#[test]
fn strips_are_all_rows_once() {
    for rows in 1..40 {
        for pes in 1..=rows {
            let strips: Vec<_> = (0..pes).map(|pe| rows_of(pe, pes, rows)).collect();
            assert!(strips.iter().flat_map(Clone::clone).eq(0..rows));
            assert!(strips.iter().all(|strip| [rows / pes, rows.div_ceil(pes)].contains(&strip.len())), "{strips:?}");
        }
    }
}

#[test]
fn without_a_plate_all_are_told() {
    let ends = shmem::launch(3, |job| run(job, None, &Plan::default(), |_, _| unreachable!("there are no steps")));
    assert!(ends.unwrap().iter().all(Option::is_none));
}

#[test]
fn more_pes_than_rows() {
    let plate = Plate { field: Field::new(3, vec![0.0; 6]), held: Held::Edges };
    let ends = shmem::launch(3, |job| run(job, Some(&plate), &Plan::default(), |_, _| {}));
    let Err(Error::PeFailed(failure)) = ends else { panic!("{ends:?}") };
    assert!(failure.message.contains("3 PEs for 2 rows"), "{}", failure.message);
}

/// The kernels alone, on whatever a GPU is here: the same bits as plain loops.
#[cfg(feature = "cuda")]
#[test]
fn kernels_on_a_gpu() -> Result<(), Error> {
    use escrow::DeviceContext;
    use escrow_examples::heat::HeatKernels;

    let mut numbers = Numbers(4);
    for (width, rows) in [(1, 3), (2, 3), (3, 3), (70, 11), (33, 30), (257, 3)] {
        let field = any_field(&mut numbers, width, rows);
        let marks: Vec<u8> = (0..width * (rows - 2)).map(|_| u8::from(numbers.next().is_multiple_of(3)) * 7).collect();
        let mut found = Vec::new();
        for device in [Device::cpu(), Device::cuda(0)?] {
            let ctx = DeviceContext::new(device)?;
            let kernels = HeatKernels::load(ctx.device())?;
            let all = ctx.enqueue_create_buffer(width * rows)?.copy_from_slice(field.values())?;
            let held = ctx.enqueue_create_buffer(marks.len())?.copy_from_slice(&marks)?;
            let (above, rest) = all.as_span().split_at(width)?;
            let (strip, below) = rest.split_at(width * (rows - 2))?;
            let mut next = ctx.enqueue_create_buffer_zeroed::<f32>(strip.len())?;
            let mut largest = ctx.enqueue_create_buffer_zeroed::<f32>(width)?;
            kernels.step(&ctx, width as u32, &above, &strip, &below, &held, &mut next)?;
            kernels.change(&ctx, &strip, &next, &mut largest)?;
            found.push((bits(&next.to_vec()?), bits(&largest.to_vec()?)));
        }
        assert!(found[0] == found[1], "{width} x {rows}");
        // And these are the bits of the reference, but for what is held.
        let plate = Plate { field, held: Held::Edges };
        let (expected, ..) = reference(&plate, &Plan { steps: 1, check: 1, tolerance: None });
        for (i, mark) in marks.iter().enumerate() {
            let expected = if *mark == 0 { expected[width + i] } else { plate.field.values()[width + i] };
            assert_eq!(found[0].0[i], expected.to_bits(), "{width} x {rows}, {i}");
        }
    }
    Ok(())
}
