//! `#[derive(DevicePassable)]`: the C struct of a host struct, what a kernel body gets, and the declaration for CUDA C++.

use std::fs;
use std::mem::{align_of, offset_of, size_of};
use std::process::Command;

use escrow::{
    DType, Device, DeviceBuffer, DeviceContext, DeviceLayout, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error,
    StreamTag,
};

escrow::streams! { Upload, Compute }

#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct Weights {
    center: f64,
    edges: [f32; 3],
    order: u32,
}

#[derive(DevicePassable)]
struct Stencil<'a, S: StreamTag = Dyn> {
    /// What is read.
    src: DeviceSpan<'a, f32, S>,
    #[device(len_of(src))]
    n: u32,
    dst: DeviceSpanMut<'a, [f32; 4], S>,
    #[device(rename = "factor")]
    weight: i8,
    #[device(skip)]
    label: String,
    weights: Weights,
}

#[derive(DevicePassable)]
struct Outer<'k, T: DType, P, const N: usize, Q = u8>
where
    P: Copy,
{
    inner: Stencil<'k>,
    #[device(len_of(inner.dst))]
    rows: i64,
    params: P,
    more: DeviceSpan<'k, T>,
    small: [u16; N],
    #[device(skip)]
    unused: Option<Q>,
}

#[derive(DevicePassable)]
struct Scalars(u8, #[device(skip)] &'static str, Weights, [f32; 2]);

fn buffers() -> Result<(DeviceContext, DeviceBuffer<f32>, DeviceBuffer<[f32; 4]>), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let src = ctx.enqueue_create_buffer_zeroed::<f32>(5)?;
    let dst = ctx.enqueue_create_buffer_zeroed::<[f32; 4]>(7)?;
    Ok((ctx, src, dst))
}

fn stencil<'a>(src: &'a DeviceBuffer<f32>, dst: &'a mut DeviceBuffer<[f32; 4]>) -> Stencil<'a> {
    let weights = Weights { center: 0.5, edges: [1.0, 2.0, 3.0], order: 9 };
    // What the host says of `n` is ignored.
    Stencil { src: src.as_span(), n: 999, dst: dst.as_span_mut(), weight: -3, label: "host".into(), weights }
}

type Big = OuterDevice<u8, [f32; 3], 3, u64>;

#[test]
fn layout_is_that_of_c() {
    assert_eq!((size_of::<StencilDevice>(), align_of::<StencilDevice>()), (56, 8));
    assert_eq!(offset_of!(StencilDevice, src), 0);
    assert_eq!(offset_of!(StencilDevice, n), 8);
    assert_eq!(offset_of!(StencilDevice, dst), 16);
    assert_eq!(offset_of!(StencilDevice, factor), 24);
    assert_eq!(offset_of!(StencilDevice, weights), 32);

    assert_eq!(size_of::<Big>(), 96);
    assert_eq!(offset_of!(Big, rows), 56);
    assert_eq!(offset_of!(Big, params), 64);
    assert_eq!(offset_of!(Big, more), 80);
    assert_eq!(offset_of!(Big, small), 88);

    assert_eq!(size_of::<ScalarsDevice>(), 40);
    assert_eq!((offset_of!(ScalarsDevice, 1), offset_of!(ScalarsDevice, 2)), (8, 32));
}

#[test]
fn device_values() -> Result<(), Error> {
    let (ctx, src, mut dst) = buffers()?;
    let it = stencil(&src, &mut dst);
    // SAFETY: nothing is launched with the pointers.
    let (device, src) = unsafe { (it.to_device(), it.src.to_device()) };
    assert_eq!(device.src, src);
    assert_eq!(device.n, 5);
    assert_eq!(device.factor, -3);
    assert_eq!(device.weights, it.weights);
    assert_eq!((it.n, &*it.label), (999, "host"));

    let none = DeviceBuffer::empty(&ctx);
    let outer =
        Outer::<u8, f32, 2> { inner: it, rows: 0, params: 1.5, more: none.as_span(), small: [1, 2], unused: None };
    // SAFETY: as above.
    let device = unsafe { outer.to_device() };
    assert_eq!((device.inner.n, device.rows, device.params, device.small), (5, 7, 1.5, [1, 2]));
    assert!(outer.unused.is_none());

    let scalars = Scalars(1, "host", outer.inner.weights, [2.0, 3.0]);
    // SAFETY: as above.
    let (device, body) = unsafe { (scalars.to_device(), scalars.to_body()) };
    assert_eq!((device.0, device.2, scalars.1), (1, [2.0, 3.0], "host"));
    assert_eq!((body.0, body.1, body.2), (1, scalars.2, [2.0, 3.0]));
    Ok(())
}

#[test]
fn body_values() -> Result<(), Error> {
    let (_ctx, src, mut dst) = buffers()?;
    let it = stencil(&src, &mut dst);
    // SAFETY: the spans in it are not used.
    let StencilBody { src, n, dst, factor, weights } = unsafe { it.to_body() };
    assert_eq!((src.len(), n, dst.len(), factor, weights.order), (5, 5, 7, -3, 9));
    Ok(())
}

#[test]
fn names() {
    assert_eq!(<Stencil<'_> as DeviceLayout>::TYPE_NAME, "Stencil");
    assert_eq!(<Stencil<'_> as DeviceLayout>::C_NAME, "Stencil");
    assert_eq!(<Outer<'_, u8, f32, 2, u8> as DeviceLayout>::TYPE_NAME, "Outer<u8, f32, 2>");
    assert_eq!(<Outer<'_, u8, f32, 2, u8> as DeviceLayout>::C_NAME, "Outer_u8_f32_2");
    assert_eq!((<f32 as DeviceLayout>::C_NAME, <[f32; 2] as DeviceLayout>::C_DIMS), ("float", "[2]"));
}

/// The fields decide on which streams a struct can be passed.
#[test]
fn streams() {
    #[derive(DevicePassable)]
    #[allow(dead_code)]
    struct Fixed<'a> {
        a: DeviceSpan<'a, f32, Upload>,
        b: u32,
    }
    #[derive(DevicePassable)]
    #[allow(dead_code)]
    struct Two<'a, A: StreamTag, B>
    where
        B: escrow::StreamTag,
    {
        a: DeviceSpan<'a, f32, A>,
        b: DeviceSpan<'a, f32, B>,
    }
    fn on<S: StreamTag, T: DevicePassable<S>>() {}
    on::<Dyn, Stencil<'_>>();
    on::<Compute, Stencil<'_, Compute>>();
    on::<Upload, Fixed<'_>>();
    on::<Upload, Two<'_, Upload, Upload>>();
    on::<Upload, Scalars>();
    on::<Compute, Scalars>();
    on::<Compute, Weights>();
    on::<Dyn, Outer<'_, u8, f32, 2>>();
}

#[test]
fn declaration() {
    let text = Stencil::<Dyn>::C_DECL;
    assert!(text.starts_with(Weights::C_DECL), "{text}");
    let own = &text[Weights::C_DECL.len()..];
    // Pointers may be written with spaces.
    let own = own.replace("* ", "*").replace(" *", "*");
    assert_eq!(
        own,
        "#ifndef ESCROW_DECL_Stencil
#define ESCROW_DECL_Stencil
struct Stencil {
    const float*src;
    unsigned int n;
    float (*dst)[4];
    signed char factor;
    Weights weights;
};
static_assert(sizeof(Stencil) == 56, \"size\");
static_assert(alignof(Stencil) == 8, \"alignment\");
static_assert(offsetof(Stencil, src) == 0, \"offset of src\");
static_assert(offsetof(Stencil, n) == 8, \"offset of n\");
static_assert(offsetof(Stencil, dst) == 16, \"offset of dst\");
static_assert(offsetof(Stencil, factor) == 24, \"offset of factor\");
static_assert(offsetof(Stencil, weights) == 32, \"offset of weights\");
#endif
"
        .replace(" *", "*")
        .replace("* ", "*")
    );
}

#[test]
fn declarations_compile() {
    let source = std::env::temp_dir().join(format!("escrow-passable-{}.cpp", std::process::id()));
    let declarations = [Stencil::<Dyn>::C_DECL, Outer::<u8, [f32; 3], 3, u8>::C_DECL, Scalars::C_DECL];
    let text = format!("#include <cstddef>\n{0}{0}", declarations.concat());
    fs::write(&source, &text).unwrap();
    match Command::new("g++").args(["-std=c++17", "-fsyntax-only", "-Wall", "-Werror"]).arg(&source).output() {
        Ok(output) => assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: there is no C++ compiler here (g++: {error})"),
    }
    fs::remove_file(&source).unwrap();
}

/// A crate that forbids `unsafe` can derive; expansions mind no names of the user.
mod hygiene {
    #![deny(warnings)]
    #![forbid(unsafe_code)]
    #![no_implicit_prelude]

    #[allow(dead_code, non_camel_case_types)]
    type u32 = ();
    #[allow(dead_code)]
    mod core {}
    #[allow(dead_code)]
    mod escrow {}

    #[derive(::escrow::DevicePassable)]
    #[escrow(crate = "::escrow")]
    pub(super) struct r#Type<'k, T: ::escrow::DType> {
        pub(super) r#struct: ::escrow::DeviceSpan<'k, T>,
        #[device(rename = "while")]
        pub(super) check: Private,
    }

    #[derive(::escrow::DevicePassable)]
    pub(super) struct Private {
        pub(super) value: ::std::primitive::u32,
    }

    #[derive(::std::clone::Clone, ::std::marker::Copy, ::escrow::DType)]
    #[repr(C)]
    pub(super) struct Element {
        _value: ::std::primitive::u32,
    }
}

#[test]
fn hygienic() {
    let text = hygiene::Type::<'_, hygiene::Element>::C_DECL;
    assert!(text.contains("struct Element {\n    unsigned int _value;\n};"), "{text}");
    assert!(text.contains("    Private while_;\n};"), "{text}");
    assert_eq!(offset_of!(hygiene::TypeDevice<u8>, r#while), 8);
    assert_eq!(size_of::<hygiene::PrivateBody<'static>>(), 4);
}
