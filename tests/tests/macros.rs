//! The derives and the kernel attribute in programs that are not written for them: inside of other macros, with names that
//! differ by case, generic in every way, large, private, without a prelude and with all warnings denied.
#![deny(warnings)]

use std::mem::size_of;

use escrow::{DType, Device, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, StreamTag};

// Names that are the same without regard to case, as are those of what the derives make of them.
#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct Cell(u32);
#[allow(clippy::upper_case_acronyms)]
#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct CELL(u64);
#[derive(DevicePassable)]
struct Params {
    cell: Cell,
}
#[allow(clippy::upper_case_acronyms)]
#[derive(DevicePassable)]
struct PARAMS {
    cell: CELL,
}

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(bodies::put)]
    #[launch(cover(y))]
    safe fn put(params: Params, y: &mut [u32]);
    #[allow(non_snake_case)]
    #[cpu(bodies::put_wide)]
    #[launch(cover(y))]
    safe fn Put(params: PARAMS, y: &mut [u64]);
}
#[allow(clippy::upper_case_acronyms)]
#[escrow::kernels(struct KERNELS)]
unsafe extern "kernel" {
    #[cpu(bodies::put)]
    #[launch(cover(y))]
    safe fn put(params: Params, y: &mut [u32]);
}

mod bodies {
    use escrow::{KernelSpanMut, Share};

    pub(super) fn put(share: &mut Share<'_>, params: super::ParamsBody<'_>, y: KernelSpanMut<'_, u32>) {
        y.own(share).fill(params.cell.0);
    }

    pub(super) fn put_wide(share: &mut Share<'_>, params: super::PARAMSBody<'_>, y: KernelSpanMut<'_, u64>) {
        y.own(share).fill(params.cell.0);
    }
}

#[test]
fn names_that_differ_by_case() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let (k, other) = (Kernels::load(ctx.device())?, KERNELS::load(ctx.device())?);
    let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    let mut wide = ctx.enqueue_create_buffer_zeroed::<u64>(2)?;
    k.put(&ctx, Params { cell: Cell(7) }, &mut y)?;
    k.Put(&ctx, PARAMS { cell: CELL(8) }, &mut wide)?;
    assert_eq!((y.to_vec()?, wide.to_vec()?), (vec![7; 3], vec![8; 2]));
    other.put(&ctx, Params { cell: Cell(9) }, &mut y)?;
    assert_eq!(y.to_vec()?, [9; 3]);
    assert_eq!((<Cell as DType>::C_NAME, <CELL as DType>::C_NAME), ("Cell", "CELL"));
    assert!(Params::C_DECL.contains("Cell cell;") && PARAMS::C_DECL.contains("CELL cell;"));
    Ok(())
}

// Everything comes from a macro: names, types, attributes, lifetimes and the tag.
macro_rules! program {
    ($element:ident, $params:ident, $set:ident, $body:ident, $kernel:ident, $ty:ty, $lt:lifetime, [$($field:ident)+]) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, DType)]
        #[repr(C)]
        struct $element {
            $($field: $ty,)+
        }

        #[derive(DevicePassable)]
        struct $params<$lt, S: StreamTag = Dyn> {
            src: DeviceSpan<$lt, $element, S>,
            #[device(len_of(src))]
            n: u32,
            $(#[allow(dead_code)] $field: $ty,)+
        }

        #[escrow::kernels(struct $set)]
        unsafe extern "kernel" {
            #[cpu($body)]
            #[launch(cover(dst))]
            #[requires(p.src.len() == dst.len())]
            safe fn $kernel<S>(p: $params<'_, S>, dst: &mut [$element]);
        }
    };
}
program!(Point, Copy1, Copies, copy_body, r#move, f32, 'k, [x y r#type]);

fn copy_body(share: &mut escrow::Share<'_>, p: Copy1Body<'_>, dst: escrow::KernelSpanMut<'_, Point>) {
    let range = share.range();
    assert_eq!(p.n as usize, p.src.len());
    dst.own(share).copy_from_slice(&p.src[range]);
}

#[test]
fn all_of_it_from_a_macro() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let points = [Point { x: 1.0, y: 2.0, r#type: 3.0 }; 4];
    let src = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&points)?)?.0;
    let mut dst = ctx.enqueue_create_buffer_zeroed::<Point>(4)?;
    let params = Copy1 { src: src.as_span(), n: 0, x: 0.0, y: 0.0, r#type: 0.0 };
    Copies::load(ctx.device())?.r#move(&ctx, params, &mut dst)?;
    assert_eq!(dst.to_vec()?, points);
    Ok(())
}

// Generic in types, constants and lifetimes, with clauses of its own.
#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Matrix<T, const ROWS: usize, const COLUMNS: usize>
where
    T: DType + PartialOrd,
    [T; ROWS]: Sized,
{
    cells: [[T; COLUMNS]; ROWS],
}

#[derive(DevicePassable)]
struct Many<'r, 'w: 'r, T, F, const N: usize, S>
where
    T: DType + PartialOrd + 'r,
    F: Fn(T) -> T,
    S: StreamTag,
{
    read: DeviceSpan<'r, T, S>,
    write: DeviceSpanMut<'w, [T; N], S>,
    bounds: Matrix<T, 2, N>,
    #[device(skip)]
    map: F,
}

fn sum<'r, 'w: 'r, T: DType + PartialOrd, F: Fn(T) -> T, const N: usize, S: StreamTag>(
    many: &Many<'r, 'w, T, F, N, S>,
) -> usize {
    let _ = (many.map)(many.bounds.cells[0][0]);
    many.read.len() + many.write.len()
}

#[test]
fn generic_in_every_way() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let (a, mut b) = (ctx.enqueue_create_buffer_zeroed::<u16>(3)?, ctx.enqueue_create_buffer_zeroed::<[u16; 2]>(2)?);
    let bounds = Matrix { cells: [[1u16, 2], [3, 4]] };
    let many = Many { read: a.as_span(), write: b.as_span_mut(), bounds, map: |x| x + 1 };
    assert_eq!(sum(&many), 5);
    assert_eq!(size_of::<ManyDevice<u16, fn(u16) -> u16, 2>>(), 24);
    assert_eq!(<Matrix<u16, 2, 2> as DType>::SIZE, 8);
    Ok(())
}

// A hundred fields, and as many parameters as a launch has room for.
macro_rules! hundred {
    ($($name:ident)+) => {
        #[derive(DevicePassable)]
        struct Hundred<'a> { $(#[allow(dead_code)] $name: u32,)+ last: DeviceSpan<'a, f32> }

        #[escrow::kernels(struct Large)]
        unsafe extern "kernel" {
            #[cpu(first)]
            #[launch(cover(y))]
            safe fn first(y: &mut [u32], $($name: u32),+);
        }

        #[allow(clippy::too_many_arguments, unused_variables, clippy::many_single_char_names)]
        fn first(share: &mut escrow::Share<'_>, y: escrow::KernelSpanMut<'_, u32>, $($name: u32),+) {
            y.own(share).fill(0 $(+ $name)+);
        }

        fn call(k: &Large, ctx: &DeviceContext, y: &mut escrow::DeviceBuffer<u32>) -> Result<(), Error> {
            k.first(ctx, y, $({ let $name = 1; $name }),+)
        }
    };
}
hundred! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9
    e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9
    i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9
}

#[test]
fn a_hundred_of_all() -> Result<(), Error> {
    assert_eq!(size_of::<HundredDevice>(), 408);
    assert!(Hundred::C_DECL.contains("static_assert(offsetof(Hundred, last) == 400"));
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(2)?;
    call(&Large::load(ctx.device())?, &ctx, &mut y)?;
    assert_eq!(y.to_vec()?, [100; 2]);
    Ok(())
}

// Types that nobody outside can name, in modules of modules, without a prelude.
mod outer {
    #![no_implicit_prelude]
    #![forbid(unsafe_op_in_unsafe_fn)]

    pub(super) mod inner {
        #[derive(::std::clone::Clone, ::std::marker::Copy, ::escrow::DType)]
        #[repr(transparent)]
        struct Secret(f32);

        #[derive(::escrow::DevicePassable)]
        struct Hidden<'k> {
            #[allow(dead_code)]
            span: ::escrow::DeviceSpan<'k, Secret>,
        }

        #[::escrow::kernels(struct Set)]
        unsafe extern "kernel" {
            #[cpu(body)]
            #[launch(cover(hidden.span))]
            safe fn look(hidden: Hidden<'_>);
        }

        fn body(_: &mut ::escrow::Share<'_>, hidden: HiddenBody<'_>) {
            ::std::assert_eq!(hidden.span[2].0, 0.0);
        }

        pub(in super::super) fn run() -> ::std::result::Result<(), ::escrow::Error> {
            let ctx = ::escrow::DeviceContext::new(::escrow::Device::cpu())?;
            let dev = ctx.enqueue_create_buffer_zeroed::<Secret>(3)?;
            Set::load(ctx.device())?.look(&ctx, Hidden { span: dev.as_span() })?;
            ctx.synchronize(())?;
            ::std::result::Result::Ok(())
        }
    }
}

#[test]
fn private_in_nested_modules() -> Result<(), Error> {
    outer::inner::run()
}
