//! Texts of buffers, against outputs of Mojo 1.2.0 (`reference/mojo-behaviour.md`, sections 1, 4 and 6).

use std::fmt;

use escrow::{Bool8, DType, Device, DeviceContext, F8E4M3, F8E5M2};

/// The text of a host buffer with these elements.
fn shown<T: DType>(items: &[T]) -> String {
    let ctx = DeviceContext::new(Device::cpu()).unwrap();
    ctx.create_host_buffer_from(items).unwrap().to_string()
}

/// The text of one element.
fn one<T: DType>(item: T) -> String {
    struct Element<T>(T);
    impl<T: DType> fmt::Display for Element<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.print(f)
        }
    }
    Element(item).to_string()
}

fn quarters(len: u16) -> Vec<f32> {
    (0..len).map(|it| f32::from(it) * 0.25).collect()
}

#[test]
fn lists() {
    let list = |len| shown(&quarters(len));
    assert_eq!(list(0), "HostBuffer([])");
    assert_eq!(list(1), "HostBuffer([0.0])");
    assert_eq!(list(8), "HostBuffer([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75])");
    let full = list(999);
    assert!(full.starts_with("HostBuffer([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, "));
    assert!(full.ends_with("248.25, 248.5, 248.75, 249.0, 249.25, 249.5])"));
    assert!(!full.contains("..."));
    assert_eq!(list(1000), "HostBuffer([0.0, 0.25, 0.5, ..., 249.25, 249.5, 249.75])");
    assert_eq!(list(1001), "HostBuffer([0.0, 0.25, 0.5, ..., 249.5, 249.75, 250.0])");
}

#[test]
fn lists_of_other_types() {
    let doubles: Vec<f64> = quarters(1000).into_iter().map(f64::from).collect();
    assert_eq!(shown(&doubles), "HostBuffer([0.0, 0.25, 0.5, ..., 249.25, 249.5, 249.75])");
    let halves: Vec<half::f16> = quarters(1001).into_iter().map(half::f16::from_f32).collect();
    assert_eq!(shown(&halves), "HostBuffer([0.0, 0.25, 0.5, ..., 249.5, 249.75, 250.0])");
    let brains: Vec<half::bf16> = quarters(1001).into_iter().map(half::bf16::from_f32).collect();
    assert_eq!(shown(&brains), "HostBuffer([0.0, 0.25, 0.5, ..., 250.0, 250.0, 250.0])");
    assert_eq!(shown(&brains[..1000]), "HostBuffer([0.0, 0.25, 0.5, ..., 249.0, 250.0, 250.0])");
    let bytes: Vec<i8> = (0..1001).map(|it| (it % 100 - 50) as i8).collect();
    assert_eq!(shown(&bytes[..8]), "HostBuffer([-50, -49, -48, -47, -46, -45, -44, -43])");
    assert_eq!(shown(&bytes), "HostBuffer([-50, -49, -48, ..., 48, 49, -50])");
    let longs: Vec<i64> = (0..1000).map(|it| it * 3).collect();
    assert_eq!(shown(&longs), "HostBuffer([0, 3, 6, ..., 2991, 2994, 2997])");
    let bools: Vec<Bool8> = (0..1001).map(|it| Bool8::new(it % 2 == 0)).collect();
    assert_eq!(shown(&bools[..4]), "HostBuffer([True, False, True, False])");
    assert_eq!(shown(&bools), "HostBuffer([True, False, True, ..., True, False, True])");
}

#[test]
fn special_floats() {
    assert_eq!(
        shown(&[
            0.1f32,
            -0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            1e20,
            1e-20,
            16_777_216.0,
            123_456.79,
            f32::MAX,
            0.0,
            1.0 / 3.0,
            1e16,
            100_000.0
        ]),
        "HostBuffer([0.1, -0.0, inf, -inf, nan, 1e+20, 1e-20, 16777216.0, 123456.79, 3.4028235e+38, 0.0, 0.33333334, 1e+16, \
         100000.0])"
    );
    assert_eq!(
        shown(&[0.1f64, 1e300, 1e16, 1e15, 1.0 / 3.0, 5e-324, -2.5, 1.234_567_890_123_456_8e17]),
        "HostBuffer([0.1, 1e+300, 1e+16, 1000000000000000.0, 0.3333333333333333, 5e-324, -2.5, 1.2345678901234568e+17])"
    );
    assert_eq!(shown(&[f32::from_bits(1); 2]), "HostBuffer([1e-45, 1e-45])");
    assert_eq!(shown(&[f32::from_bits(0x7fc0_1234), f32::from_bits(0xffc0_0000)]), "HostBuffer([nan, nan])");
    assert_eq!(
        shown(&[0.333_984_38f32, 1e15, 1e-5, 1e-4, 1e-3, 1e-3, 123_456_790.0, 1.5e16, 9_999_999.0, 0.000_123_45]),
        "HostBuffer([0.33398437, 1000000000000000.0, 1e-05, 0.0001, 0.001, 0.001, 123456790.0, 1.5e+16, 9999999.0, 0.00012345])"
    );
    assert_eq!(
        shown(&[1e-5f64, 1e-4, 0.000_123_45, 1.5e15, 9_007_199_254_740_992.0, 0.001]),
        "HostBuffer([1e-05, 0.0001, 0.00012345, 1500000000000000.0, 9007199254740992.0, 0.001])"
    );
}

#[test]
fn narrow_floats_are_widened() {
    let f16 = half::f16::from_f32;
    assert_eq!(
        shown(&[f16(0.1), half::f16::MAX, half::f16::from_bits(1), f16(1.0 / 3.0), half::f16::NAN]),
        "HostBuffer([0.099975586, 65504.0, 5.9604645e-08, 0.33325195, nan])"
    );
    let bf16 = half::bf16::from_f32;
    assert_eq!(
        shown(&[bf16(0.1), half::bf16::MAX, half::bf16::from_bits(1), bf16(1.0 / 3.0), half::bf16::INFINITY]),
        "HostBuffer([0.100097656, 3.3895314e+38, 9.1835e-41, 0.33398437, inf])"
    );
    assert_eq!(shown(&[F8E4M3::from_f32(1.0); 5]), "HostBuffer([1.0, 1.0, 1.0, 1.0, 1.0])");
    assert_eq!(shown(&[F8E5M2::from_f32(1.0), F8E5M2::from_bits(0xfc)]), "HostBuffer([1.0, -inf])");
}

#[test]
fn every_text_reads_back() {
    let mut bits = 1u32;
    for _ in 0..20_000 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let value = f32::from_bits(bits);
        let text = one(value);
        assert!(value.is_nan() && text == "nan" || text.parse() == Ok(value), "{bits:#x}: {text}");
        assert!(text.len() <= format!("{value:e}").len().max(format!("{value:?}").len()) + 2, "{bits:#x}: {text}");
        let value = f64::from_bits(u64::from(bits) << 32 | u64::from(bits.reverse_bits()));
        let text = one(value);
        assert!(value.is_nan() && text == "nan" || text.parse() == Ok(value), "{value:e}: {text}");
    }
}

#[test]
fn integers() {
    assert_eq!(shown(&[i64::MIN, i64::MAX]), "HostBuffer([-9223372036854775808, 9223372036854775807])");
    assert_eq!(shown(&[u64::MAX]), "HostBuffer([18446744073709551615])");
    assert_eq!(shown(&[u128::MAX]), "HostBuffer([340282366920938463463374607431768211455])");
    assert_eq!(shown(&[i128::MIN]), "HostBuffer([-170141183460469231731687303715884105728])");
}

#[test]
fn bool8_by_the_low_bit() {
    let bytes: Vec<Bool8> = (0..8).map(Bool8::from_bits).collect();
    assert_eq!(shown(&bytes), "HostBuffer([False, True, False, True, False, True, False, True])");
}

#[test]
fn arrays_and_structs() {
    #[derive(Clone, Copy, DType)]
    #[repr(C, packed)]
    struct Point {
        x: f32,
        r#type: u8,
        at: [i16; 2],
    }
    #[derive(Clone, Copy, DType)]
    #[repr(transparent)]
    struct Meters(f64);

    assert_eq!(shown(&[[1u8, 2], [3, 4]]), "HostBuffer([[1, 2], [3, 4]])");
    assert_eq!(one(Point { x: 1.0, r#type: 2, at: [3, -4] }), "Point { x: 1.0, type: 2, at: [3, -4] }");
    assert_eq!(one([Meters(0.5); 2]), "[Meters(0.5), Meters(0.5)]");
    assert_eq!(one(std::num::Wrapping(7u8)), "7");
    assert_eq!(one(escrow::PodElement(0x0102u16.to_be())), "PodElement(0102)");
}
