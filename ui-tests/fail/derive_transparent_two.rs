// Rule: a transparent element has one field.
// Instead: `#[repr(C)]`.
//~ -
//~ right: pass/elements.rs
use std::marker::PhantomData;

use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Metres {
    value: f32,
    unit: PhantomData<f32>,
}

fn main() {}
