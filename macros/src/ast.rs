//! The struct that a derive was put on, with its attributes read.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, Index, Member, Path, Type};

use crate::attr::{self, DeviceAttrs, Repr};
use crate::valid::Faults;

pub(crate) struct Struct<'a> {
    pub(crate) input: &'a DeriveInput,
    /// The crate `escrow`.
    pub(crate) krate: Path,
    pub(crate) repr: Repr,
    pub(crate) named: bool,
    pub(crate) fields: Vec<Field<'a>>,
}

pub(crate) struct Field<'a> {
    pub(crate) original: &'a syn::Field,
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
    pub(crate) device: DeviceAttrs,
}

impl<'a> Struct<'a> {
    /// Reads everything; what cannot be read is a fault and left out.
    pub(crate) fn read(input: &'a DeriveInput, derive: &str, faults: &mut Faults) -> Struct<'a> {
        let (named, fields) = match &input.data {
            Data::Struct(data) => (matches!(data.fields, Fields::Named(_)), data.fields.iter().collect()),
            Data::Enum(data) => {
                faults.push(
                    data.enum_token.span,
                    format!(
                        "`{}` is an enum, and a device could write a number that is none of its variants: keep the number \
                         in a struct, `#[repr(transparent)] struct {}(u32)`, and turn it into the enum on the host",
                        input.ident, input.ident
                    ),
                );
                (true, Vec::new())
            }
            Data::Union(data) => {
                faults.push(
                    data.union_token.span,
                    format!(
                        "`{}` is a union, and its bytes do not tell which field a device wrote: derive `{derive}` on a \
                         struct with one of the fields, or with bytes (`[u8; N]`) that you convert yourself",
                        input.ident
                    ),
                );
                (true, Vec::new())
            }
        };
        let fields = fields
            .into_iter()
            .enumerate()
            .map(|(at, field)| Field {
                original: field,
                member: field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(at)), Member::Named),
                ty: &field.ty,
                device: attr::device(field, faults),
            })
            .collect();
        let krate = attr::krate(&input.attrs, faults);
        let repr = attr::repr(&input.attrs, faults);
        Struct { input, krate, repr, named, fields }
    }

    pub(crate) fn ident(&self) -> &'a Ident {
        &self.input.ident
    }

    /// The name without `r#`.
    pub(crate) fn name(&self) -> String {
        self.input.ident.unraw().to_string()
    }

    pub(crate) fn is_struct(&self) -> bool {
        matches!(self.input.data, Data::Struct(_))
    }

    /// What the compiler should point at for faults of the struct as a whole.
    pub(crate) fn span(&self) -> Span {
        self.input.ident.span()
    }
}

impl Field<'_> {
    /// The name without `r#`; `0` and so on in tuple structs.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(ident) => ident.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }

    /// The name on the device, without `r#`.
    pub(crate) fn device_name(&self) -> String {
        self.device.rename.as_ref().map_or_else(|| self.name(), |it| it.unraw().to_string())
    }
}
