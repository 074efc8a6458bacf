//! Random programs against a sequential model: what the streams make of a program, in whatever order they run, is what
//! the program says from top to bottom.
//!
//! `PROPTEST_CASES` sets how many programs each test draws.

#[path = "model/copy.rs"]
mod copy;
#[path = "model/elem.rs"]
mod elem;
#[path = "model/lend.rs"]
mod lend;
#[path = "model/op.rs"]
mod op;
#[path = "model/own.rs"]
mod own;
#[path = "model/pool.rs"]
mod pool;
#[path = "model/world.rs"]
mod world;

use std::thread;

use escrow::{Bool8, Device, DeviceContext, Dyn};
use proptest::prelude::*;

use elem::Elem;
use op::{Op, failing_programs, programs};
use pool::{Blocks, Pool, Real, STREAMS};
use world::{Other, World};

fn config(cases: u32) -> ProptestConfig {
    // The variable wins over what is set here.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 4000, ..ProptestConfig::default() }
}

fn streams(device: &Device) -> (Vec<DeviceContext<Dyn>>, Vec<DeviceContext<Other>>) {
    let plain = (0..STREAMS).map(|_| DeviceContext::new(device.clone()).unwrap()).collect();
    let other = (0..STREAMS).map(|_| DeviceContext::tagged(Other, device.clone()).unwrap()).collect();
    (plain, other)
}

fn run<T: Elem>(device: &Device, program: &[Op]) {
    let (plain, other) = streams(device);
    let mut world = World::<T> { plain: Pool::new(plain), other: Pool::new(other), blocks: Blocks::default() };
    for op in program {
        world.step(op);
    }
    world.finish();
}

/// Runs a program of each thread on the same streams. All threads read one host and one device buffer, and each tries to
/// make them its own.
fn run_threads<T: Elem>(device: &Device, threads: &[Vec<Op>]) {
    let (plain, other) = streams(device);
    let data: Vec<T> = (0..64).map(|i| T::make(i * 0x0123_4567_89AB)).collect();
    let shared = plain[0].create_host_buffer_from(&data).unwrap().into_shared();
    let table = plain[0].enqueue_create_buffer_from(&shared).unwrap().into_shared().unwrap();
    let mut worlds: Vec<World<T>> = threads
        .iter()
        .map(|_| {
            let mut world =
                World { plain: Pool::new(plain.clone()), other: Pool::new(other.clone()), blocks: Blocks::default() };
            let block = world.blocks.foreign(data.len());
            world.plain.push(Real::SharedHost(shared.clone()), data.clone(), 0, block);
            let block = world.blocks.foreign(data.len());
            world.plain.push(Real::SharedDev(table.share_with(&plain[1]).unwrap()), data.clone(), 1, block);
            world
        })
        .collect();
    // So that the last thread to try can succeed.
    drop((shared, table, plain, other));
    thread::scope(|s| {
        for (program, mut world) in threads.iter().zip(worlds.drain(..)) {
            s.spawn(move || {
                for op in program {
                    world.step(op);
                }
                world.finish();
            });
        }
    });
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn program_on_plain_streams(program in programs(80)) {
        run::<u32>(&Device::cpu(), &program);
    }

    #[test]
    fn program_under_chaos(program in programs(80), seed: u64) {
        run::<u32>(&Device::cpu_chaos(seed), &program);
    }

    #[test]
    fn program_with_failing_kernels(program in failing_programs(80)) {
        run::<u32>(&Device::cpu(), &program);
    }

    #[test]
    fn program_with_failing_kernels_under_chaos(program in failing_programs(80), seed: u64) {
        run::<u32>(&Device::cpu_chaos(seed), &program);
    }
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn program_with_bytes(program in programs(60), seed: u64) {
        run::<u8>(&Device::cpu_chaos(seed), &program);
    }

    #[test]
    fn program_with_bools(program in programs(60), seed: u64) {
        run::<Bool8>(&Device::cpu_chaos(seed), &program);
    }

    #[test]
    fn program_with_wide_elements(program in programs(60), seed: u64) {
        run::<u128>(&Device::cpu_chaos(seed), &program);
    }

    #[test]
    fn program_with_odd_elements(program in programs(60), seed: u64) {
        run::<[u16; 3]>(&Device::cpu_chaos(seed), &program);
    }

    #[test]
    fn program_with_elements_that_do_not_fit_an_operation(program in programs(60), seed: u64) {
        run::<[u64; 20]>(&Device::cpu_chaos(seed), &program);
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn programs_of_threads(a in programs(60), b in programs(60), c in programs(60)) {
        run_threads::<u32>(&Device::cpu(), &[a, b, c]);
    }

    #[test]
    fn programs_of_threads_under_chaos(a in programs(60), b in programs(60), c in programs(60), seed: u64) {
        run_threads::<u32>(&Device::cpu_chaos(seed), &[a, b, c]);
    }
}

/// The same programs on a GPU, or on the fake driver, which reports every race and every use of freed memory.
#[cfg(feature = "cuda")]
mod on_a_gpu {
    use super::*;

    proptest! {
        #![proptest_config(config(60))]

        #[test]
        fn program_of_words(program in programs(80)) {
            if let Some(gpu) = escrow_tests::gpu() {
                run::<u32>(&gpu, &program);
            }
        }

        #[test]
        fn program_of_bytes(program in programs(60)) {
            if let Some(gpu) = escrow_tests::gpu() {
                run::<u8>(&gpu, &program);
            }
        }

        #[test]
        fn program_of_wide_elements(program in programs(60)) {
            if let Some(gpu) = escrow_tests::gpu() {
                run::<u128>(&gpu, &program);
            }
        }

        #[test]
        fn program_of_odd_elements(program in programs(60)) {
            if let Some(gpu) = escrow_tests::gpu() {
                run::<[u16; 3]>(&gpu, &program);
            }
        }

        #[test]
        fn programs_of_threads(a in programs(40), b in programs(40), c in programs(40)) {
            let programs = [a, b, c];
            if let Some(gpu) = escrow_tests::gpu() {
                run_threads::<u32>(&gpu, &programs);
            }
        }
    }
}
