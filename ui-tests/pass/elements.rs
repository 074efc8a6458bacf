//! Structs as elements.

use escrow::{Bool8, DType, Device, DeviceContext, Error};

/// A number that the host turns into a variant.
#[derive(Clone, Copy, PartialEq, Debug, DType)]
#[repr(transparent)]
struct Kind(u32);

enum Cell {
    Free,
    Wall,
}

impl From<Kind> for Cell {
    fn from(kind: Kind) -> Cell {
        if kind == Kind(0) { Cell::Free } else { Cell::Wall }
    }
}

/// Without padding: the gap is a field.
#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct Sample {
    value: f32,
    kind: Kind,
    wall: Bool8,
    pad: [u8; 3],
}

/// Fields of one type, so that the layout is known for every `T`.
#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Pair<T> {
    first: T,
    second: [T; 2],
}

/// Without gaps, whatever `T` is.
#[derive(Clone, Copy, DType)]
#[repr(C, packed)]
struct Tagged<T: DType> {
    value: T,
    tag: u32,
}

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Row<const N: usize>([Bool8; N]);

#[derive(Clone, Copy, DType)]
#[repr(C, align(16))]
struct Line {
    bytes: [u8; 32],
}

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let sample = Sample { value: 1.0, kind: Kind(1), wall: Bool8::new(true), pad: [0; 3] };
    let host = ctx.create_host_buffer_from(&[sample; 3])?;
    println!("{host}");
    let (dev, host) = ctx.enqueue_create_buffer_from(host)?;
    assert_eq!(dev.to_vec()?, ctx.synchronize(host)?[..]);
    assert!(matches!(Cell::from(dev.to_vec()?[0].kind), Cell::Wall));

    let pairs = ctx.enqueue_create_buffer_zeroed::<Pair<f64>>(2)?.to_vec()?;
    assert_eq!(pairs[0].first + pairs[1].second[1], 0.0);
    let tagged = ctx.create_host_buffer_from(&[Tagged { value: 1u8, tag: 2 }])?;
    assert_eq!(({ tagged[0].value }, { tagged[0].tag }), (1, 2));
    let row = ctx.create_host_buffer_from(&[Row([Bool8::new(true); 4])])?;
    assert!(row[0].0[3].get());
    assert_eq!((Pair::<f64>::NAME, Tagged::<u8>::SIZE, Row::<4>::SIZE, Line::ALIGN), ("Pair<f64>", 5, 4, 16));
    assert_eq!(ctx.create_host_buffer_from(&[Line { bytes: [1; 32] }])?[0].bytes[31], 1);
    Ok(())
}
