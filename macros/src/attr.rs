//! `#[repr(...)]`, `#[escrow(...)]` and `#[device(...)]`.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, LitInt, LitStr, Member, Path, Token, parenthesized};

use crate::valid::Faults;

/// What the `#[repr]` attributes say together.
#[derive(Default)]
pub(crate) struct Repr {
    pub(crate) c: bool,
    pub(crate) transparent: Option<Span>,
    pub(crate) rust: Option<Span>,
    pub(crate) align: Option<(u32, Span)>,
    pub(crate) packed: Option<(u32, Span)>,
    /// What a struct cannot have, by name.
    pub(crate) other: Option<(String, Span)>,
}

/// Reads `#[repr]`. What is not well-formed is left to the compiler's own message.
pub(crate) fn repr(attrs: &[Attribute], faults: &mut Faults) -> Repr {
    let mut repr = Repr::default();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("repr")) {
        let read = attr.parse_nested_meta(|meta| {
            let span = meta.path.span();
            if meta.path.is_ident("C") {
                repr.c = true;
            } else if meta.path.is_ident("transparent") {
                repr.transparent = Some(span);
            } else if meta.path.is_ident("Rust") {
                repr.rust = Some(span);
            } else if meta.path.is_ident("align") {
                let (value, span) = number(&meta)?;
                // Several `align` mean the largest.
                if repr.align.is_none_or(|(old, _)| old < value) {
                    repr.align = Some((value, span));
                }
            } else if meta.path.is_ident("packed") {
                repr.packed = Some(if meta.input.peek(syn::token::Paren) { number(&meta)? } else { (1, span) });
            } else {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                repr.other = Some((name, span));
            }
            Ok(())
        });
        if let Err(error) = read {
            faults.add(error);
        }
    }
    repr
}

/// The `(N)` of `align(N)` and `packed(N)`.
fn number(meta: &ParseNestedMeta<'_>) -> syn::Result<(u32, Span)> {
    let content;
    parenthesized!(content in meta.input);
    let literal: LitInt = content.parse()?;
    Ok((literal.base10_parse()?, literal.span()))
}

/// The path in `#[escrow(crate = "path")]`, or `::escrow`.
pub(crate) fn krate(attrs: &[Attribute], faults: &mut Faults) -> Path {
    let mut found: Option<Path> = None;
    for attr in attrs {
        if attr.path().is_ident("device") {
            faults.push(
                attr.span(),
                "`#[device(...)]` goes on fields; on the struct there is only `#[escrow(crate = \"path\")]`",
            );
        }
        if !attr.path().is_ident("escrow") {
            continue;
        }
        let read = attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(unknown(&meta, "escrow", "`crate = \"path\"`"));
            }
            if found.is_some() {
                return Err(meta.error("`crate` is given twice: keep one"));
            }
            let path: LitStr = meta.value()?.parse()?;
            found = Some(path.parse_with(Path::parse_mod_style).map_err(|_| {
                syn::Error::new(
                    path.span(),
                    "this is not a path to a crate or module: write it as in `use`, `\"::my_escrow\"`",
                )
            })?);
            Ok(())
        });
        if let Err(error) = read {
            faults.add(error);
        }
    }
    found.unwrap_or_else(|| {
        // Resolved where the user's code stands, as a name of the extern prelude.
        let escrow = Ident::new("escrow", Span::call_site());
        syn::parse_quote!(::#escrow)
    })
}

/// What `#[device(...)]` says of a field.
#[derive(Default)]
pub(crate) struct DeviceAttrs {
    pub(crate) skip: Option<Span>,
    pub(crate) rename: Option<Ident>,
    pub(crate) len_of: Option<LenOf>,
}

/// `src` or `params.src`: fields, the first of them of the struct itself.
pub(crate) struct LenOf {
    pub(crate) path: Vec<Member>,
}

pub(crate) fn device(field: &syn::Field, faults: &mut Faults) -> DeviceAttrs {
    let mut device = DeviceAttrs::default();
    for attr in &field.attrs {
        if attr.path().is_ident("escrow") {
            faults.push(attr.span(), "`#[escrow(...)]` goes on the struct, not on a field");
        }
        if !attr.path().is_ident("device") {
            continue;
        }
        let read = attr.parse_nested_meta(|meta| {
            let span = meta.path.span();
            if meta.path.is_ident("skip") {
                if device.skip.replace(span).is_some() {
                    return Err(meta.error("`skip` is given twice: keep one"));
                }
            } else if meta.path.is_ident("rename") {
                let name: LitStr = meta.value()?.parse()?;
                let ident = name.parse_with(Ident::parse_any).map_err(|_| {
                    syn::Error::new(
                        name.span(),
                        "this is not a name that a field can have: write an identifier, `\"count\"`",
                    )
                })?;
                // A keyword of Rust is a fine name in C, and a raw identifier in the device struct.
                let ident = if syn::parse_str::<Ident>(&name.value()).is_ok() {
                    ident
                } else if matches!(&*ident.to_string(), "self" | "Self" | "super" | "crate" | "_") {
                    return Err(syn::Error::new(
                        name.span(),
                        "a field cannot have this name: write another identifier",
                    ));
                } else {
                    Ident::new_raw(&ident.unraw().to_string(), name.span())
                };
                if device.rename.replace(ident).is_some() {
                    return Err(syn::Error::new(span, "`rename` is given twice: keep one"));
                }
            } else if meta.path.is_ident("len_of") {
                let content;
                parenthesized!(content in meta.input);
                let path = content.call(member_path)?;
                if device.len_of.replace(LenOf { path }).is_some() {
                    return Err(syn::Error::new(span, "`len_of` is given twice: keep one"));
                }
            } else {
                return Err(unknown(&meta, "device", "`skip`, `rename = \"name\"` and `len_of(field)`"));
            }
            Ok(())
        });
        if let Err(error) = read {
            faults.add(error);
        }
    }
    device
}

fn member_path(input: ParseStream<'_>) -> syn::Result<Vec<Member>> {
    let first = |error: syn::Error| syn::Error::new(error.span(), "`len_of` takes the name of a field: `len_of(src)`");
    let mut path = vec![input.parse::<Member>().map_err(first)?];
    while input.peek(Token![.]) {
        input.parse::<Token![.]>()?;
        path.push(input.parse()?);
    }
    if input.is_empty() {
        Ok(path)
    } else {
        Err(input.error("`len_of` takes one field: `len_of(src)`, `len_of(params.src)`"))
    }
}

fn unknown(meta: &ParseNestedMeta<'_>, attr: &str, known: &str) -> syn::Error {
    let path = &meta.path;
    let name = quote::quote!(#path).to_string();
    meta.error(format!("`#[{attr}(...)]` knows no `{name}`; it knows {known}"))
}
