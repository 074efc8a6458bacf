//! What a declaration must be.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{FnArg, GenericParam, Pat, ReturnType, Signature, Type};

use super::ast::{Block, Item, Kernel, Kind, Launch, Param, Safety, SpanPath, names};
use super::attr::{KernelAttrs, ParamAttrs, expressions};
use crate::valid::Faults;

/// Reads one declaration; `None` if anything is wrong with it.
pub(crate) fn kernel(item: TokenStream, faults: &mut Faults) -> Option<Kernel> {
    let item: Item = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            faults.add(error);
            return None;
        }
    };
    let mut own = Faults::default();
    let kernel = read(item, &mut own);
    match own.check() {
        Ok(()) => Some(kernel),
        Err(error) => {
            faults.add(error);
            None
        }
    }
}

/// What concerns the set as a whole.
pub(crate) fn block(block: &Block, kernels: &[Kernel], faults: &mut Faults) {
    for (at, kernel) in kernels.iter().enumerate() {
        let name = kernel.name();
        // Two of which one is left out are none of our business.
        let is_sure = |kernel: &Kernel| !kernel.attrs.iter().any(|attr| attr.path().is_ident("cfg"));
        if kernels[..at].iter().any(|other| other.name() == name && is_sure(other) && is_sure(kernel)) {
            faults.push(kernel.ident.span(), format!("there are two kernels with the name `{name}`"));
        }
    }
    for attr in &block.attrs {
        if attr.path().is_ident("link") {
            faults.push(attr.span(), "nothing is linked for kernels: leave `#[link(..)]` out");
        }
    }
}

fn read(item: Item, faults: &mut Faults) -> Kernel {
    let Item { attrs, vis, safety, sig } = item;
    let attrs = KernelAttrs::read(attrs, faults);
    if matches!(safety, Safety::Missing) && sig.unsafety.is_none() {
        faults.push(
            sig.fn_token.span,
            "say `safe fn` or `unsafe fn`. `safe fn` promises: for every launch that the declaration admits, all accesses stay inside of the spans passed and no two threads race. A kernel for which the caller must see to that is an `unsafe fn`",
        );
    }
    let name = sig.ident.unraw().to_string();
    if matches!(name.as_str(), "load" | "load_image" | "max_blocks" | "device" | "clone" | "fmt") {
        faults.push(sig.ident.span(), format!("every kernel set has a method `{name}`: give the kernel another name"));
    }
    let tag = signature(&sig, faults);
    let params: Vec<Param> = sig.inputs.iter().filter_map(|input| param(input, faults)).collect();
    paths(&params, &sig, faults);
    let launch = if let Some(launch) = attrs.launch {
        launch
    } else {
        if matches!(safety, Safety::Safe) {
            faults.push(
                    sig.ident.span(),
                    "a `safe fn` kernel says which launches it admits, since its caller could pick a grid that writes out of bounds: `#[launch(cover(y))]` for one thread an element of `y`, `#[launch(grid(..), block(..))]` to compute it, `#[launch(max(grid = .., block = ..))]` to bound what the caller picks. Where no such rule fits, declare an `unsafe fn`",
                );
        }
        Launch::Chosen
    };
    if let Launch::Cover(path) = &launch {
        span_path("cover", path, &params, &sig, faults);
    }
    let lengths: Vec<&Param> = params.iter().filter(|param| matches!(param.kind, Kind::Len(..))).collect();
    for condition in &attrs.requires {
        let used = names(condition.expr.to_token_stream());
        for length in &lengths {
            let Kind::Len(_, path) = &length.kind else { continue };
            if used.contains(&length.ident.unraw().to_string()) {
                let path = path.to_token_stream().to_string().replace(' ', "");
                faults.push(
                    condition.expr.span(),
                    format!(
                        "`{}` is filled in after the conditions were looked at: write `{path}.len()` here",
                        length.ident
                    ),
                );
            }
        }
    }
    moved(&attrs.requires.iter().map(|it| it.expr.to_token_stream()).collect::<TokenStream>(), faults);
    moved(&expressions(&launch), faults);
    Kernel {
        attrs: attrs.others,
        vis,
        is_unsafe: matches!(safety, Safety::Unsafe),
        ident: sig.ident.clone(),
        tag,
        params,
        cpu: attrs.cpu,
        ptx: attrs.ptx,
        device: None,
        requires: attrs.requires,
        launch,
    }
}

/// Conditions are about parameters, not about the set.
fn moved(tokens: &TokenStream, faults: &mut Faults) {
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if ident == "self" => {
                faults.push(ident.span(), "conditions and sizes speak of the kernel's parameters; there is no `self`");
            }
            TokenTree::Group(group) => moved(&group.stream(), faults),
            _ => {}
        }
    }
}

/// The tag parameter, if there is one.
fn signature(sig: &Signature, faults: &mut Faults) -> Option<Ident> {
    for (span, what) in [(sig.constness.map(|it| it.span), "const"), (sig.asyncness.map(|it| it.span), "async")] {
        if let Some(span) = span {
            faults.push(
                span,
                format!("a kernel cannot be `{what}`: it is launched, and runs when its stream comes to it"),
            );
        }
    }
    if let Some(abi) = &sig.abi {
        faults.push(abi.span(), "the block says `extern \"kernel\"` for all of them");
    }
    if let Some(variadic) = &sig.variadic {
        faults.push(variadic.span(), "a kernel has a fixed list of parameters");
    }
    if let ReturnType::Type(arrow, ty) = &sig.output {
        let _ = arrow;
        faults.push(ty.span(), "a kernel returns nothing: it writes its results to a `&mut [T]`, which with `#[out(each)]` or `#[out(all)]` comes back to the caller as written");
    }
    let mut tag = None;
    for param in &sig.generics.params {
        match param {
            GenericParam::Type(ty) if tag.is_none() && ty.bounds.is_empty() && ty.default.is_none() && ty.attrs.is_empty() => {
                tag = Some(ty.ident.clone());
            }
            GenericParam::Type(ty) => faults.push(
                ty.span(),
                "a kernel is not generic, as it is compiled for one element type. It can have one parameter without bounds, `fn name<S>(p: Params<'_, S>)`, which is the tag of the launching stream. For several element types declare several kernels",
            ),
            GenericParam::Lifetime(lifetime) => {
                faults.push(lifetime.span(), "a kernel has no lifetime parameters: leave them out, and write `'_` in types");
            }
            GenericParam::Const(param) => {
                faults.push(param.span(), "a kernel is not generic: pass the value as a parameter, or declare several kernels");
            }
        }
    }
    if let Some(clause) = &sig.generics.where_clause {
        faults.push(clause.span(), "a kernel is not generic, so there is nothing to bound");
    }
    tag
}

fn param(input: &FnArg, faults: &mut Faults) -> Option<Param> {
    let input = match input {
        FnArg::Receiver(receiver) => {
            faults.push(
                receiver.self_token.span,
                "a kernel has no `self`: the methods of the set get theirs from the macro",
            );
            return None;
        }
        FnArg::Typed(input) => input,
    };
    let attrs = ParamAttrs::read(&input.attrs, faults);
    let ident = match &*input.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.mutability.is_none() && pat.subpat.is_none() => {
            pat.ident.clone()
        }
        pat => {
            faults.push(pat.span(), "a parameter of a kernel is a plain name with a type: `x: &[f32]`");
            return None;
        }
    };
    let ty = peel(&input.ty);
    let kind = match ty {
        Type::Reference(reference) => {
            if let Some(lifetime) = &reference.lifetime {
                faults.push(lifetime.span(), "leave the lifetime out: device memory is borrowed for the call, and stays valid until the stream has passed the kernel");
            }
            match (peel(&reference.elem), reference.mutability) {
                (Type::Slice(slice), None) => Kind::Read((*slice.elem).clone()),
                (Type::Slice(slice), Some(_)) => match attrs.out {
                    Some((_, coverage)) => Kind::Out((*slice.elem).clone(), coverage),
                    None => Kind::Write((*slice.elem).clone()),
                },
                (elem, mutability) => {
                    let elem = show(elem);
                    let hint = if mutability.is_some() {
                        format!("`&mut [{elem}]`")
                    } else {
                        format!("`&[{elem}]`, or the value itself, `{elem}`")
                    };
                    faults.push(ty.span(), format!("a kernel cannot follow a reference to the host's memory. Device memory is `&[T]` or `&mut [T]`, everything else is passed by value: {hint}"));
                    return None;
                }
            }
        }
        Type::Ptr(ptr) => {
            let elem = show(&ptr.elem);
            faults.push(ty.span(), format!("declare `&[{elem}]` or `&mut [{elem}]`, which a caller fills with device memory, or `TrustedPtr<{elem}>`, a pointer that `unsafe {{ ptr.trust() }}` vouches for"));
            return None;
        }
        Type::Slice(slice) => {
            let elem = show(&slice.elem);
            faults.push(
                ty.span(),
                format!(
                    "declare `&[{elem}]` for memory that the kernel reads, `&mut [{elem}]` for memory that it writes"
                ),
            );
            return None;
        }
        Type::Path(_) | Type::Array(_) | Type::Macro(_) | Type::Tuple(_) | Type::Group(_) => {
            lifetimes(&input.ty, faults);
            match attrs.len_of {
                Some(ref path) => {
                    Kind::Len(ty.clone(), SpanPath { root: path.root.clone(), fields: path.fields.clone() })
                }
                None => Kind::Value(ty.clone()),
            }
        }
        _ => {
            faults.push(
                ty.span(),
                "a kernel takes `&[T]`, `&mut [T]`, elements, and structs with `#[derive(DevicePassable)]`",
            );
            return None;
        }
    };
    if let (Some((span, _)), Kind::Read(_) | Kind::Value(_) | Kind::Len(..)) = (attrs.out, &kind) {
        faults.push(
            span,
            format!("`out` is for memory that the kernel writes as a whole: `{ident}` must be a `&mut [T]`"),
        );
    }
    if let (Some(path), Kind::Read(_) | Kind::Write(_) | Kind::Out(..)) = (&attrs.len_of, &kind) {
        faults.push(
            path.span(),
            format!("`{ident}` holds a length, so its type is an integer: `#[len_of(..)] {ident}: u32`"),
        );
    }
    Some(Param { ident, kind })
}

fn show(ty: &Type) -> String {
    let text = ty.to_token_stream().to_string();
    text.replace(" < ", "<").replace(" >", ">").replace(" :: ", "::")
}

/// Without parentheses and invisible groups.
fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Paren(paren) => &paren.elem,
            Type::Group(group) => &group.elem,
            _ => return ty,
        };
    }
}

/// Reports lifetimes with names.
fn lifetimes(ty: &Type, faults: &mut Faults) {
    fn find(tokens: TokenStream, faults: &mut Faults) {
        let mut behind_quote = false;
        for token in tokens {
            let is_quote = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
            match token {
                TokenTree::Group(group) => find(group.stream(), faults),
                TokenTree::Ident(ident) if behind_quote && ident != "_" && ident != "static" => {
                    faults.push(ident.span(), "a kernel has no lifetime parameters: write `'_`");
                }
                _ => {}
            }
            behind_quote = is_quote;
        }
    }
    find(ty.to_token_stream(), faults);
}

fn paths(params: &[Param], sig: &Signature, faults: &mut Faults) {
    for param in params {
        if let Kind::Len(_, path) = &param.kind {
            span_path("len_of", path, params, sig, faults);
        }
    }
}

/// A path must start at a parameter, and be of a span as far as that can be seen.
fn span_path(what: &str, path: &SpanPath, params: &[Param], sig: &Signature, faults: &mut Faults) {
    let root = &path.root;
    let Some(param) = params.iter().find(|param| param.ident == *root) else {
        // A parameter that was refused has its own message.
        let refused = sig.inputs.iter().any(|input| match input {
            FnArg::Typed(input) => matches!(&*input.pat, Pat::Ident(pat) if pat.ident == *root),
            FnArg::Receiver(_) => false,
        });
        if !refused {
            faults.push(root.span(), format!("`{}` has no parameter `{root}`: `{what}` takes the name of a span parameter, or the path of a span field, `p.src`", sig.ident));
        }
        return;
    };
    let fault = match (&param.kind, path.fields.is_empty()) {
        (Kind::Read(_) | Kind::Write(_) | Kind::Out(..), true) | (Kind::Value(_), false) => return,
        (Kind::Read(_) | Kind::Write(_) | Kind::Out(..), false) => {
            format!("`{root}` is a span itself: `{what}({root})`")
        }
        (Kind::Value(_), true) => {
            format!(
                "`{root}` is not a span: `{what}` takes a parameter of type `&[T]` or `&mut [T]`, or the path of a span field, `{root}.src`"
            )
        }
        (Kind::Len(..), _) => format!("`{root}` is a length itself: `{what}` takes a span"),
    };
    faults.push(root.span(), fault);
}
