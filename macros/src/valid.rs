//! Faults of the user's text, collected so that all are reported at once.

use std::fmt::Display;

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Data, Fields, Member, Type};

use crate::ast::Struct;
use crate::generics::{Params, leaf};

/// Everything that was found wrong so far.
#[derive(Default)]
pub(crate) struct Faults(Option<syn::Error>);

impl Faults {
    pub(crate) fn push(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// `Err` if anything was wrong.
    pub(crate) fn check(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

fn without_fields(it: &Struct<'_>) -> String {
    let name = it.name();
    match &it.input.data {
        Data::Struct(data) if matches!(data.fields, Fields::Unit) => format!("`{name}` is a unit struct"),
        _ if it.named => format!("`{name}` has no fields"),
        _ => format!("`{name}` is a tuple struct without fields"),
    }
}

/// What `#[derive(DType)]` asks for.
pub(crate) fn element(it: &Struct<'_>, params: &Params<'_>, faults: &mut Faults) {
    let name = it.name();
    if it.fields.is_empty() {
        faults.push(
            it.span(),
            format!("{}, so a buffer of it would hold nothing: give it a field that is an element", without_fields(it)),
        );
    }
    let repr = &it.repr;
    if let Some(span) = repr.rust {
        faults.push(span, "`repr(Rust)` leaves the order of the fields to the compiler, and a kernel could not know it: use `repr(C)`");
    } else if !repr.c && repr.transparent.is_none() {
        faults.push(
            it.span(),
            format!(
                "a kernel has to know how `{name}` lies in memory, and Rust's own layout is not fixed: add `#[repr(C)]`, \
                 or `#[repr(transparent)]` for a struct with one field"
            ),
        );
    }
    if let (Some(span), true) = (repr.transparent, it.fields.len() > 1) {
        faults.push(
            span,
            format!(
                "a transparent element is another name for its one field, and `{name}` has {}: use `#[repr(C)]`",
                it.fields.len()
            ),
        );
    }
    if let Some((align, span)) = repr.align
        && align > 16
    {
        faults.push(
            span,
            format!("alignment {align} is more than device memory and kernel parameters promise: at most 16"),
        );
    }
    if let Some((other, span)) = &repr.other {
        faults.push(*span, format!("`repr({other})` is no layout of an element: use `repr(C)` or `repr(transparent)`"));
    }
    for lifetime in it.input.generics.lifetimes() {
        faults.push(
            lifetime.lifetime.span(),
            format!(
                "an element is plain data and borrows nothing, but `{name}` has a lifetime: hold values in it instead of \
                 references (a struct with device spans is for `#[derive(DevicePassable)]`)"
            ),
        );
    }
    element_generics(it, params, faults);
}

/// For a generic struct nobody would evaluate an assertion on its layout (`bytemuck::bytes_of` does not), so the layout
/// has to follow from the bounds.
fn element_generics(it: &Struct<'_>, params: &Params<'_>, faults: &mut Faults) {
    if !params.is_generic() {
        return;
    }
    let name = it.name();
    if let Some((_, span)) = it.repr.align {
        faults.push(
            span,
            format!("whether `align` makes padding depends on the parameters of `{name}`: leave it out, or make the struct concrete"),
        );
        return;
    }
    if it.repr.transparent.is_some() || matches!(it.repr.packed, Some((1, _))) {
        return;
    }
    let Some((first, rest)) = it.fields.split_first() else { return };
    let first = leaf(first.ty).to_token_stream().to_string();
    if let Some(other) = rest.iter().find(|field| leaf(field.ty).to_token_stream().to_string() != first) {
        faults.push(
            other.ty.span(),
            format!(
                "whether there is padding between `{first}` and this depends on the parameters of `{name}`, so its layout \
                 cannot be proven for all of them: make `{name}` concrete, give all fields one type (or arrays of it), or add \
                 `packed`, `#[repr(C, packed)]`"
            ),
        );
    }
}

/// What `#[derive(DevicePassable)]` asks for.
pub(crate) fn passable(it: &Struct<'_>, faults: &mut Faults) {
    let name = it.name();
    if let Some((_, span)) = it.repr.packed {
        faults.push(
            span,
            format!("the host side of `{name}` is not what a kernel sees, and borrowing fields of a packed struct is not possible: leave `packed` out"),
        );
    }
    if it.fields.is_empty() {
        faults.push(it.span(), format!("{}, so there is nothing to pass to a kernel", without_fields(it)));
    } else if it.fields.iter().all(|field| field.device.skip.is_some()) {
        faults.push(it.span(), format!("every field of `{name}` is skipped, so there is nothing to pass to a kernel"));
    }
    let mut names: Vec<String> = Vec::new();
    for field in &it.fields {
        let attrs = &field.device;
        if let Some(span) = attrs.skip {
            if attrs.rename.is_some() || attrs.len_of.is_some() {
                faults.push(
                    span,
                    "a skipped field is not on the device, so nothing else can be said of it: keep `skip` alone",
                );
            }
            continue;
        }
        if let Some(fault) = host_only(field.ty) {
            faults.push(field.ty.span(), fault);
        }
        if let (Some(rename), false) = (&attrs.rename, it.named) {
            faults.push(
                rename.span(),
                "fields of a tuple struct have no names: give the struct named fields to rename them",
            );
        }
        let device_name = field.device_name();
        if names.contains(&device_name) {
            let span = attrs.rename.as_ref().map_or_else(|| field.original.span(), Ident::span);
            faults.push(span, format!("two fields of `{name}` are called `{device_name}` on the device: rename one of them to another name"));
        }
        names.push(device_name);
        if let Some(len_of) = &attrs.len_of {
            let first = &len_of.path[0];
            let fault = match it.fields.iter().find(|other| other.member == *first) {
                None => Some(format!(
                    "`{name}` has no field `{}`: `len_of` takes the name of a span field of this struct",
                    show(first)
                )),
                Some(other) if other.device.skip.is_some() => Some(format!(
                    "`{}` is skipped, so the device has nothing of this length: `len_of` takes a span field that is passed",
                    show(first)
                )),
                Some(other) if other.device.len_of.is_some() => {
                    Some(format!("`{}` is a length itself: `len_of` takes the name of a span field", show(first)))
                }
                Some(_) => None,
            };
            if let Some(fault) = fault {
                faults.push(first.span(), fault);
            }
        }
    }
}

/// What is no device memory and no plain data whatever its names mean.
fn host_only(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Reference(_) => {
            "a reference points to host memory, which a kernel does not reach: copy the data to the device and use a span of \
             it, `DeviceSpan<'a, T, S>` or `DeviceSpanMut<'a, T, S>`, or copy a single value into the struct"
        }
        Type::Ptr(_) => {
            "a raw pointer says nothing about the memory behind it: use a span, `DeviceSpan<'a, T, S>`, or a \
             `TrustedPtr<T>`, which `unsafe { device_ptr.trust() }` makes"
        }
        Type::Tuple(_) => {
            "the layout of a tuple is not fixed: use fields of their own, or a struct with `#[derive(DType)]`"
        }
        Type::BareFn(_) | Type::TraitObject(_) => {
            "a function of the host cannot be called on the device: leave the field out, or `#[device(skip)]`"
        }
        Type::Slice(_) => {
            "a kernel's parameter has a fixed size: use an array, `[T; N]`, or a span, `DeviceSpan<'a, T, S>`"
        }
        _ => return None,
    })
}

fn show(member: &Member) -> String {
    member.to_token_stream().to_string()
}
