//! Elements: their constants, `#[derive(DType)]`, and the declarations for CUDA C++.

// For the tests of `#[escrow(crate = ...)]`.
extern crate escrow as renamed;

use std::fs;
use std::mem::offset_of;
use std::num::Wrapping;
use std::process::Command;

use escrow::{Bool8, DType, F8E4M3, F8E5M2, PodElement};

/// Name, size, alignment and how a field `x` is declared in C.
fn facts<T: DType>() -> (&'static str, usize, usize, String) {
    (T::NAME, T::SIZE, T::ALIGN, format!("{} x{}", T::C_NAME, T::C_DIMS))
}

fn is<T: DType>(name: &str, size: usize, align: usize, c: &str) {
    assert_eq!(facts::<T>(), (name, size, align, c.to_owned()));
}

#[test]
fn primitives() {
    is::<u8>("u8", 1, 1, "unsigned char x");
    is::<i8>("i8", 1, 1, "signed char x");
    is::<u16>("u16", 2, 2, "unsigned short x");
    is::<i16>("i16", 2, 2, "short x");
    is::<u32>("u32", 4, 4, "unsigned int x");
    is::<i32>("i32", 4, 4, "int x");
    is::<u64>("u64", 8, 8, "unsigned long long x");
    is::<i64>("i64", 8, 8, "long long x");
    is::<u128>("u128", 16, 16, "unsigned __int128 x");
    is::<i128>("i128", 16, 16, "__int128 x");
    is::<f32>("f32", 4, 4, "float x");
    is::<f64>("f64", 8, 8, "double x");
    is::<half::f16>("f16", 2, 2, "__half x");
    is::<half::bf16>("bf16", 2, 2, "__nv_bfloat16 x");
    is::<F8E4M3>("F8E4M3", 1, 1, "__nv_fp8_e4m3 x");
    is::<F8E5M2>("F8E5M2", 1, 1, "__nv_fp8_e5m2 x");
    is::<Bool8>("Bool8", 1, 1, "unsigned char x");
}

/// Its name is longer than the first array that names are put together in.
type Deep = [[[[[[[[[[u8; 1000]; 1]; 1]; 1]; 1]; 1]; 1]; 1]; 1]; 1000];

#[test]
fn compounds() {
    is::<[f32; 3]>("[f32; 3]", 12, 4, "float x[3]");
    is::<[[f32; 3]; 4]>("[[f32; 3]; 4]", 48, 4, "float x[4][3]");
    is::<Wrapping<u16>>("Wrapping<u16>", 2, 2, "unsigned short x");
    is::<[Wrapping<[u8; 2]>; 5]>("[Wrapping<[u8; 2]>; 5]", 10, 1, "unsigned char x[5][2]");
    is::<PodElement<[u32; 3]>>("PodElement", 12, 4, "escrow_pod_12_4 x");
    assert_eq!(Deep::NAME, format!("{}u8; 1000]{}; 1000]", "[".repeat(10), "; 1]".repeat(8)));
}

#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i32,
}

#[test]
fn derived_struct() {
    is::<Particle>("Particle", 16, 4, "Particle x");
    assert_eq!(
        Particle::C_DECL,
        "#ifndef ESCROW_DECL_Particle
#define ESCROW_DECL_Particle
struct Particle {
    float position[3];
    int charge;
};
static_assert(sizeof(Particle) == 16, \"size\");
static_assert(alignof(Particle) == 4, \"alignment\");
static_assert(offsetof(Particle, position) == 0, \"offset of position\");
static_assert(offsetof(Particle, charge) == 12, \"offset of charge\");
#endif
"
    );
    // Also plain data for `bytemuck`.
    let bytes: [u8; 16] = bytemuck::cast(Particle { position: [1.0, 2.0, 3.0], charge: -1 });
    assert_eq!(bytes[12..], [255; 4]);
    assert_eq!(bytemuck::pod_read_unaligned::<Particle>(&bytes).charge, -1);
    assert_eq!(<Particle as bytemuck::Zeroable>::zeroed(), Particle { position: [0.0; 3], charge: 0 });
}

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Meters<T>(T);

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Complex<T> {
    re: T,
    im: T,
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Row<T, const N: usize>
where
    T: Copy + Default,
{
    head: Complex<T>,
    cells: [[Complex<T>; N]; 2],
}

#[derive(Clone, Copy, DType)]
#[repr(C, packed)]
struct Mixed<A, B> {
    a: A,
    fixed: u8,
    b: B,
}

#[derive(Clone, Copy, DType)]
#[repr(C, align(16))]
struct Vec4([f32; 4]);

#[derive(Clone, Copy, DType)]
#[repr(C, packed(2))]
struct Packed2 {
    int: u32,
    r#class: u16,
    vec: [Vec4Unaligned; 2],
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Vec4Unaligned {
    _x: [f32; 4],
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Everything {
    meters: Meters<f32>,
    sizes: [[Complex<i16>; 2]; 3],
    fp8: [F8E4M3; 2],
    other: F8E5M2,
    flag: Bool8,
    half: half::f16,
    brain: half::bf16,
    pod: PodElement<[u16; 2]>,
    pad: [u8; 8],
    signed: i128,
    vec: Vec4,
    row: Row<f64, 2>,
    mixed: [Mixed<u64, i16>; 5],
    tail: [u8; 9],
}

// The names differ by case only.
#[allow(clippy::upper_case_acronyms)]
#[derive(Clone, Copy, DType)]
#[repr(C)]
struct PARTICLE(u8, [i8; 3]);

#[test]
fn generic_and_packed_structs() {
    is::<Meters<f32>>("Meters<f32>", 4, 4, "Meters_f32 x");
    is::<Meters<[u8; 3]>>("Meters<[u8; 3]>", 3, 1, "Meters__u8__3_ x");
    is::<Complex<f64>>("Complex<f64>", 16, 8, "Complex_f64 x");
    is::<Complex<Meters<f32>>>("Complex<Meters<f32>>", 8, 4, "Complex_Meters_f32_ x");
    is::<Row<f32, 3>>("Row<3>", 56, 4, "Row_3 x");
    is::<Mixed<u64, u16>>("Mixed<u64, u16>", 11, 1, "Mixed_u64_u16 x");
    is::<Vec4>("Vec4", 16, 16, "Vec4 x");
    is::<Packed2>("Packed2", 38, 2, "Packed2 x");
    is::<PARTICLE>("PARTICLE", 4, 1, "PARTICLE x");
    assert_eq!(offset_of!(Mixed<u64, u16>, b), 9);
    assert!(Packed2::C_DECL.contains("#pragma pack(push, 2)\nstruct Packed2 {\n    unsigned int int_;\n"));
    assert!(Vec4::C_DECL.contains("struct alignas(16) Vec4 {\n    float _0[4];\n};"));
    assert!(Meters::<[u8; 3]>::C_DECL.contains("typedef unsigned char Meters__u8__3_[3];"));
}

/// All declarations, twice and in one file, are C++ whose compiler agrees on sizes, alignments and offsets.
#[test]
fn declarations_compile() {
    let dir = std::env::temp_dir().join(format!("escrow-dtype-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    for (header, types) in [
        ("cuda_fp16.h", "struct __half { unsigned short bits; };"),
        ("cuda_bf16.h", "struct __nv_bfloat16 { unsigned short bits; };"),
        ("cuda_fp8.h", "struct __nv_fp8_e4m3 { unsigned char bits; };\nstruct __nv_fp8_e5m2 { unsigned char bits; };"),
    ] {
        fs::write(dir.join(header), format!("#pragma once\n{types}\n")).unwrap();
    }
    let declarations = [
        Everything::C_DECL,
        Particle::C_DECL,
        PARTICLE::C_DECL,
        Packed2::C_DECL,
        Meters::<[u8; 3]>::C_DECL,
        Hundred::C_DECL,
    ];
    let text = format!("#include <cstddef>\n{0}{0}", declarations.concat());
    let source = dir.join("elements.cpp");
    fs::write(&source, &text).unwrap();
    let run = Command::new("g++")
        .args(["-std=c++17", "-fsyntax-only", "-Wall", "-Werror", "-I"])
        .arg(&dir)
        .arg(&source)
        .output();
    match run {
        Ok(output) => assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: there is no C++ compiler here (g++: {error})"),
    }
    fs::remove_dir_all(&dir).unwrap();
}

macro_rules! hundred {
    ($($name:ident)+) => {
        #[derive(Clone, Copy, DType)]
        #[repr(C)]
        struct Hundred { $($name: u32,)+ }
    };
}
hundred! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7 d8 d9
    e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9
    i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9
}

#[test]
fn a_hundred_fields() {
    is::<Hundred>("Hundred", 400, 4, "Hundred x");
    assert!(Hundred::C_DECL.contains("static_assert(offsetof(Hundred, j9) == 396"));
}

/// What a user's crate may look like.
mod hygiene {
    #![deny(warnings)]
    #![no_implicit_prelude]

    pub(super) mod nested {
        #[derive(::std::clone::Clone, ::std::marker::Copy, ::renamed::DType)]
        #[repr(C)]
        #[escrow(crate = "::renamed")]
        pub(in super::super) struct r#Struct {
            r#fn: Private,
            other: [Private; Self::COUNT],
        }

        impl r#Struct {
            const COUNT: ::std::primitive::usize = 3;
        }

        #[derive(::std::clone::Clone, ::std::marker::Copy, ::escrow::DType)]
        #[repr(transparent)]
        struct Private(::std::primitive::u32);
    }

    // Names that expansions could trip over.
    #[allow(non_camel_case_types, dead_code)]
    type u32 = ();
    #[allow(dead_code, non_snake_case)]
    fn Ok() {}
    #[allow(dead_code)]
    struct Result;
    #[allow(dead_code)]
    mod core {}
    #[allow(dead_code)]
    mod escrow {}

    #[derive(::std::clone::Clone, ::std::marker::Copy, ::escrow::DType)]
    #[repr(C)]
    pub(super) struct Option<Some> {
        pub(super) some: [Some; 2],
    }
}

#[test]
fn hygienic() {
    is::<hygiene::nested::Struct>("Struct", 16, 4, "Struct x");
    is::<hygiene::Option<u8>>("Option<u8>", 2, 1, "Option_u8 x");
    assert!(hygiene::nested::Struct::C_DECL.contains("    Private fn;\n    Private other[3];\n"));
}

#[test]
fn float8_e4m3() {
    assert_eq!(F8E4M3::MAX.to_f32(), 448.0);
    assert_eq!(F8E4M3::from_bits(1).to_f32(), 2f32.powi(-9));
    assert_eq!(F8E4M3::from_bits(8).to_f32(), 2f32.powi(-6));
    for bits in 0..=255 {
        let it = F8E4M3::from_bits(bits);
        if bits & 0x7f == 0x7f {
            assert!(it.to_f32().is_nan() && F8E4M3::from_f32(it.to_f32()).to_f32().is_nan());
        } else {
            assert_eq!(F8E4M3::from_f32(it.to_f32()).to_bits(), bits);
            assert_eq!(F8E4M3::from_f32_saturating(it.to_f32()).to_bits(), bits);
        }
    }
    // 464 is the tie between 448 and what would be 480.
    assert_eq!(F8E4M3::from_f32(464.0), F8E4M3::MAX);
    assert!(F8E4M3::from_f32(464.1).to_f32().is_nan());
    assert_eq!(F8E4M3::from_f32_saturating(f32::NEG_INFINITY).to_f32(), -448.0);
    assert!(F8E4M3::from_f32_saturating(f32::NAN).to_f32().is_nan());
    nearest(F8E4M3::from_f32, F8E4M3::to_f32, F8E4M3::from_bits, 448.0);
}

#[test]
fn float8_e5m2() {
    assert_eq!(F8E5M2::MAX.to_f32(), 57344.0);
    assert_eq!(F8E5M2::from_bits(1).to_f32(), 2f32.powi(-16));
    for bits in 0..=255 {
        let it = F8E5M2::from_bits(bits);
        if bits & 0x7f > 0x7c {
            assert!(it.to_f32().is_nan() && F8E5M2::from_f32(it.to_f32()).to_f32().is_nan());
        } else {
            assert_eq!(F8E5M2::from_f32(it.to_f32()).to_bits(), bits);
        }
    }
    assert_eq!(F8E5M2::from_f32(61439.0), F8E5M2::MAX);
    assert_eq!(F8E5M2::from_f32(61440.0).to_f32(), f32::INFINITY);
    assert_eq!(F8E5M2::from_f32_saturating(f32::INFINITY), F8E5M2::MAX);
    nearest(F8E5M2::from_f32, F8E5M2::to_f32, F8E5M2::from_bits, 57344.0);
}

/// Compares rounding with a search through all finite values.
fn nearest<T: Copy>(from: impl Fn(f32) -> T, to: impl Fn(T) -> f32, bits: impl Fn(u8) -> T, max: f32) {
    let values: Vec<f32> = (0..128).map(|it| to(bits(it))).filter(|it| it.is_finite()).collect();
    let mut state = 1u32;
    for step in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // All magnitudes, and the middles between neighbours.
        let value = if step < 2 * values.len() - 2 {
            f32::midpoint(values[step / 2], values[step / 2 + 1])
        } else {
            f32::from_bits(state & 0x7fff_ffff)
        };
        if !value.is_finite() || value > max {
            continue;
        }
        let distance = |it: &f32| (f64::from(*it) - f64::from(value)).abs();
        let best = values.iter().map(distance).fold(f64::INFINITY, f64::min);
        let ties: Vec<usize> = (0..values.len()).filter(|&at| distance(&values[at]) == best).collect();
        let expected = values[*ties.iter().find(|&&at| ties.len() == 1 || at % 2 == 0).unwrap()];
        assert_eq!(to(from(value)), expected, "{value:e}");
        assert_eq!(to(from(-value)), -expected, "-{value:e}");
    }
}

#[test]
fn equality_is_by_value() {
    assert_eq!(F8E4M3::from_bits(0), F8E4M3::from_bits(0x80));
    assert_ne!(F8E4M3::NAN, F8E4M3::NAN);
    assert!(F8E5M2::from_f32(1.0) < F8E5M2::from_f32(2.0));
    assert_eq!(Bool8::from_bits(3), Bool8::new(true));
    assert_eq!(Bool8::from_bits(2), false);
    assert!(bool::from(Bool8::from(true)) && !Bool8::default().get());
    assert_eq!(Bool8::from_bits(0xfe).to_bits(), 0xfe);
}
