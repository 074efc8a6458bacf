//! Compiled device code that comes when the program runs, on GPUs that it was compiled for.
//!
//! `kernels/blas.sm_90.cubin` is `examples/kernels/blas.ptx`, by
//! `ptxas -arch=sm_90 -o tests/tests/kernels/blas.sm_90.cubin examples/kernels/blas.ptx` of CUDA 12.9 (in the wheel
//! `nvidia-cuda-nvcc-cu12` 12.9.86).
#![cfg(feature = "cuda")]

use escrow::{Device, DeviceContext, Error};
use escrow_tests::gpu;

const CUBIN: &[u8] = include_bytes!("kernels/blas.sm_90.cubin");

#[escrow::kernels(struct Blas, image)]
// SAFETY: thread `i` writes `y[i]`, for `i < n`.
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

/// Sets that the image does not have so.
#[escrow::kernels(struct Wide, image)]
unsafe extern "kernel" {
    unsafe fn saxpy(n: u64, a: f32, x: &[f32], y: &mut [f32]);
}

#[escrow::kernels(struct Missing, image)]
unsafe extern "kernel" {
    unsafe fn daxpy(n: u32, a: f64, x: &[f64], y: &mut [f64]);
}

#[test]
fn a_cubin_is_loaded_and_runs() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    // SAFETY: the image is whole, and has what is declared.
    let load = |gpu: &Device| unsafe { Blas::load_image(gpu, CUBIN) };
    let capability = gpu.compute_capability();
    let is_for_it = capability.is_some_and(|(major, _)| major == 9) && gpu.name().starts_with("NVIDIA");
    if !is_for_it {
        // The driver refuses what is for other GPUs, and the fake one what is no text.
        assert!(matches!(load(&gpu), Err(Error::Driver { .. })));
        println!("skipped: the cubin is for compute capability 9.x, and this is {gpu}, {capability:?}");
        return Ok(());
    }
    let ctx = DeviceContext::new(gpu)?;
    let blas = load(ctx.device())?;
    for len in [0, 1, 255, 256, 100_000] {
        let x = ctx.enqueue_create_buffer::<f32>(len)?.enqueue_fill(2.0)?;
        let mut y = ctx.enqueue_create_buffer::<f32>(len)?.enqueue_fill(1.0)?;
        blas.saxpy(&ctx, 3.0, &x, &mut y)?;
        assert!(y.to_vec()? == vec![7.0; len], "{len}");
    }
    assert!(blas.max_blocks("saxpy", 256, 0)?.is_some_and(|most| most > 0));

    // SAFETY: nothing of it is launched.
    let missing = unsafe { Missing::load_image(ctx.device(), CUBIN) }.map(drop);
    assert!(matches!(missing, Err(Error::NoFunction { kernel: "daxpy" })), "{missing:?}");
    // Drivers before CUDA 12.4 do not tell what the parameters are.
    // SAFETY: as above.
    let wide = unsafe { Wide::load_image(ctx.device(), CUBIN) }.map(drop);
    let is_told = ctx.device().driver_version() >= Some((12, 4));
    assert_eq!(is_told, matches!(wide, Err(Error::WrongParameter { kernel: "saxpy", index: 0, .. })), "{wide:?}");
    Ok(())
}
