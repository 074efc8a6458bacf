//! Attributes of kernels and parameters.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, MacroDelimiter, Meta, Token};

use super::ast::{Condition, Coverage, Cpu, Entry, Launch, SpanPath, is_word};
use super::text;
use crate::valid::Faults;

/// Attributes of a kernel.
#[derive(Default)]
pub(crate) struct KernelAttrs {
    /// What goes to the method.
    pub(crate) others: Vec<Attribute>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) ptx: Option<Entry>,
    pub(crate) launch: Option<Launch>,
    pub(crate) requires: Vec<Condition>,
}

impl KernelAttrs {
    pub(crate) fn read(attrs: Vec<Attribute>, faults: &mut Faults) -> KernelAttrs {
        let mut read = KernelAttrs::default();
        let (mut has_cpu, mut has_ptx, mut has_launch) = (None, None, None);
        for attr in attrs {
            if attr.path().is_ident("cpu") {
                if is_first(&mut has_cpu, &attr, faults) {
                    read.cpu = arguments(&attr, "(path)", faults, cpu);
                }
            } else if attr.path().is_ident("ptx") {
                if is_first(&mut has_ptx, &attr, faults) {
                    read.ptx = arguments(&attr, "(\"name_in_the_file\")", faults, entry);
                }
            } else if attr.path().is_ident("launch") {
                if is_first(&mut has_launch, &attr, faults) {
                    // A fault in it is no reason to say that it is missing.
                    read.launch = Some(arguments(&attr, "(cover(span))", faults, launch).unwrap_or(Launch::Chosen));
                }
            } else if attr.path().is_ident("requires") {
                let conditions =
                    arguments(&attr, "(condition)", faults, Punctuated::<Expr, Token![,]>::parse_terminated);
                let conditions = conditions.unwrap_or_default();
                let source = if conditions.len() == 1 { source(&attr) } else { None };
                read.requires.extend(conditions.into_iter().map(|expr| {
                    let text = text::of(&expr.to_token_stream(), source.clone());
                    Condition { expr, text }
                }));
            } else if let Some(name @ ("out" | "len_of")) = attr.path().get_ident().map(ToString::to_string).as_deref()
            {
                faults.push(attr.span(), format!("`{name}` stands in front of a parameter, not of the kernel"));
            } else {
                read.others.push(attr);
            }
        }
        read
    }
}

/// Attributes of a parameter.
#[derive(Default)]
pub(crate) struct ParamAttrs {
    pub(crate) len_of: Option<SpanPath>,
    pub(crate) out: Option<(Span, Coverage)>,
}

impl ParamAttrs {
    pub(crate) fn read(attrs: &[Attribute], faults: &mut Faults) -> ParamAttrs {
        let mut read = ParamAttrs::default();
        let (mut has_len_of, mut has_out) = (None, None);
        for attr in attrs {
            if attr.path().is_ident("len_of") {
                if is_first(&mut has_len_of, attr, faults) {
                    read.len_of = arguments(attr, "(span)", faults, SpanPath::parse);
                }
            } else if attr.path().is_ident("out") {
                if is_first(&mut has_out, attr, faults) {
                    let coverage = arguments(attr, "(each)", faults, coverage).unwrap_or(Coverage::All);
                    read.out = Some((attr.span(), coverage));
                }
            } else {
                faults.push(
                    attr.span(),
                    "not an attribute of a kernel's parameter: there are `#[len_of(span)]`, `#[out(each)]` and `#[out(all)]`",
                );
            }
        }
        read
    }
}

/// Reports an attribute that is there already.
fn is_first(seen: &mut Option<()>, attr: &Attribute, faults: &mut Faults) -> bool {
    if seen.replace(()).is_some() {
        faults.push(attr.span(), format!("`{}` is given twice", attr.path().to_token_stream()));
        return false;
    }
    true
}

/// What stands in the attribute's parentheses.
fn arguments<T>(
    attr: &Attribute,
    usage: &str,
    faults: &mut Faults,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> Option<T> {
    let name = attr.path().to_token_stream();
    let list = match &attr.meta {
        Meta::List(list) if matches!(list.delimiter, MacroDelimiter::Paren(_)) => list,
        _ => {
            faults.push(attr.span(), format!("`{name}` takes its arguments in parentheses: `#[{name}{usage}]`"));
            return None;
        }
    };
    if list.tokens.is_empty() {
        faults.push(attr.span(), format!("`{name}` lacks its arguments: `#[{name}{usage}]`"));
        return None;
    }
    match parse.parse2(list.tokens.clone()) {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            faults.add(error);
            None
        }
    }
}

/// The text of the attribute's parentheses with what is in them.
fn source(attr: &Attribute) -> Option<String> {
    match &attr.meta {
        Meta::List(list) => list.delimiter.span().join().source_text(),
        _ => None,
    }
}

fn cpu(input: ParseStream<'_>) -> syn::Result<Cpu> {
    let ahead = input.fork();
    let single = is_word(input, "single") && ahead.parse::<Ident>().is_ok() && ahead.peek(Ident::peek_any);
    if single {
        input.parse::<Ident>()?;
    }
    Ok(Cpu { single, body: input.parse()? })
}

fn entry(input: ParseStream<'_>) -> syn::Result<Entry> {
    let span = input.span();
    if is_word(input, "none") {
        input.parse::<Ident>()?;
        return Ok(Entry::None(span));
    }
    input.parse().map(Entry::Named).map_err(|error| {
        syn::Error::new(
            error.span(),
            "`ptx` takes the kernel's name in the PTX file, `#[ptx(\"_Z5scalefPf\")]`, or `none` for a kernel that runs on the CPU device only",
        )
    })
}

fn coverage(input: ParseStream<'_>) -> syn::Result<Coverage> {
    let word: Ident = input.parse()?;
    if word == "each" {
        Ok(Coverage::Each)
    } else if word == "all" {
        Ok(Coverage::All)
    } else {
        Err(syn::Error::new(
            word.span(),
            "`out` says who writes the elements: `each`, if thread `i` writes element `i` (checked at each launch), or `all`, if every launch that the declaration admits writes all of them (your promise)",
        ))
    }
}

fn launch(input: ParseStream<'_>) -> syn::Result<Launch> {
    let start = input.span();
    let (mut cover, mut max) = (None, None);
    let mut sizes = Sizes::default();
    while !input.is_empty() {
        let key: Ident = input.parse()?;
        if !input.peek(syn::token::Paren) {
            return Err(syn::Error::new(key.span(), format!("`{key}` takes its arguments in parentheses")));
        }
        let content;
        syn::parenthesized!(content in input);
        let duplicate = match key.to_string().as_str() {
            "cover" => cover.replace(content.parse::<SpanPath>().and_then(|path| end(&content, path)).map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "`cover` takes a span: a parameter of type `&[T]` or `&mut [T]`, or a span field of a struct, `p.dst`. For a number of threads there is `grid(..), block(..)`",
                )
            })?).is_some(),
            "max" => max.replace(bounds(&content)?).is_some(),
            "grid" | "block" | "shared" => {
                let values = Punctuated::<Expr, Token![,]>::parse_terminated(&content)?;
                sizes.set(&key, values.into_iter().collect())?
            }
            _ => return Err(unknown(&key)),
        };
        if duplicate {
            return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    match (cover, max, sizes) {
        (Some(path), None, Sizes { grid: None, block: None, shared: None }) => Ok(Launch::Cover(path)),
        (
            None,
            Some(Sizes { grid: Some(grid), block: Some(block), shared }),
            Sizes { grid: None, block: None, shared: None },
        ) => Ok(Launch::Bounded { grid, block, shared }),
        (None, Some(_), Sizes { grid: None, block: None, shared: None }) => Err(syn::Error::new(
            start,
            "`max` bounds both `grid` and `block`: `max(grid = 65535, block = 1024)`; `shared` is 0 if it is left out",
        )),
        (None, None, Sizes { grid: Some(grid), block: Some(block), shared }) => {
            Ok(Launch::Computed { grid, block, shared })
        }
        _ => Err(syn::Error::new(
            start,
            "a launch is one of `cover(span)`, `grid(..), block(..)` with or without `shared(..)`, and `max(grid = .., block = ..)`",
        )),
    }
}

fn unknown(key: &Ident) -> syn::Error {
    syn::Error::new(
        key.span(),
        format!(
            "`{key}` is no part of a launch: there are `cover(span)`, `grid(..)`, `block(..)`, `shared(..)` and `max(..)`"
        ),
    )
}

#[derive(Default)]
struct Sizes {
    grid: Option<Vec<Expr>>,
    block: Option<Vec<Expr>>,
    shared: Option<Expr>,
}

impl Sizes {
    /// Whether it was there already.
    fn set(&mut self, key: &Ident, mut values: Vec<Expr>) -> syn::Result<bool> {
        let most = if key == "shared" { 1 } else { 3 };
        if values.is_empty() || values.len() > most {
            let what = if most == 1 { "one size in bytes" } else { "one to three sizes" };
            return Err(syn::Error::new(key.span(), format!("`{key}` takes {what}")));
        }
        Ok(match key.to_string().as_str() {
            "grid" => self.grid.replace(values).is_some(),
            "block" => self.block.replace(values).is_some(),
            "shared" => self.shared.replace(values.remove(0)).is_some(),
            _ => return Err(unknown(key)),
        })
    }
}

/// `grid = 65535, block = (32, 32), shared = 0`.
fn bounds(input: ParseStream<'_>) -> syn::Result<Sizes> {
    let mut sizes = Sizes::default();
    while !input.is_empty() {
        let key: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let values = match input.parse()? {
            Expr::Tuple(tuple) => tuple.elems.into_iter().collect(),
            value => vec![value],
        };
        if sizes.set(&key, values)? {
            return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(sizes)
}

fn end(input: ParseStream<'_>, path: SpanPath) -> syn::Result<SpanPath> {
    if input.is_empty() { Ok(path) } else { Err(input.error("unexpected")) }
}

/// The tokens of all expressions of a launch.
pub(crate) fn expressions(launch: &Launch) -> TokenStream {
    match launch {
        Launch::Computed { grid, block, shared } | Launch::Bounded { grid, block, shared } => {
            quote::quote!(#(#grid)* #(#block)* #shared)
        }
        Launch::Cover(_) | Launch::Chosen => TokenStream::new(),
    }
}
