//! Declarations against the PTX file.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{LitStr, Type};

use super::ast::{Entry, Kernel, Kind, Param, Set};
use super::ptx::{self, Class, Space, Target};
use crate::valid::Faults;

/// The device code of a set.
pub(crate) struct Image {
    /// The PTX file; there is none where all of it comes when the program runs.
    pub(crate) file: Option<File>,
    /// The entries that are launched.
    pub(crate) names: Vec<String>,
}

/// A PTX file.
pub(crate) struct File {
    /// An expression: its text with a zero behind it, which also makes the compiler watch the file.
    pub(crate) text: TokenStream,
    /// Its path as the attribute has it.
    pub(crate) path: String,
}

/// The device code of a kernel.
pub(crate) struct DeviceCode {
    /// Its place in [`Image::names`].
    pub(crate) at: usize,
    /// What the file has; nothing if there is no file.
    pub(crate) params: Vec<ptx::Param>,
}

/// Reads the file, gives kernels that agree with it their [`DeviceCode`], and reports those that do not.
pub(crate) fn check(set: &Set, kernels: &mut [Kernel], faults: &mut Faults) -> Option<Image> {
    let Some(file) = &set.ptx else {
        if set.image {
            return Some(later(kernels, faults));
        }
        for entry in kernels.iter().filter_map(|kernel| kernel.ptx.as_ref()) {
            let span = match entry {
                Entry::Named(name) => name.span(),
                Entry::None(span) => *span,
            };
            faults.push(span, "`ptx` speaks of the set's PTX file, and it has none: `#[escrow::kernels(pub struct Name, ptx = \"file.ptx\")]`");
        }
        return None;
    };
    let path = file.value();
    let ptx = match read(&path).and_then(|text| ptx::parse(&text)) {
        Ok(ptx) => ptx,
        Err(fault) => {
            faults.push(file.span(), format!("`{path}`: {fault}"));
            return None;
        }
    };
    if let Some(newest) = &set.target {
        target(&path, &ptx.target, newest, faults);
    }
    let mut names = Vec::new();
    for kernel in kernels {
        if let Some(entry) = entry(&path, &ptx.entries, kernel, faults)
            && agrees(&path, kernel, entry, faults)
        {
            kernel.device = Some(DeviceCode { at: names.len(), params: entry.params.clone() });
            names.push(entry.name.clone());
        }
    }
    let text = if Path::new(&path).is_absolute() {
        quote!(::core::include_str!(#path))
    } else {
        quote!(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #path)))
    };
    Some(Image { file: Some(File { text: quote!(::core::concat!(#text, "\0")), path }), names })
}

/// Device code that comes when the program runs, of which the declarations are all that is known.
fn later(kernels: &mut [Kernel], faults: &mut Faults) -> Image {
    let mut names = Vec::new();
    for kernel in kernels {
        let name = match &kernel.ptx {
            Some(Entry::Named(name)) => name.value(),
            None => kernel.name(),
            Some(Entry::None(span)) => {
                if kernel.cpu.is_none() {
                    let own = kernel.name();
                    let fault = format!(
                        "`{own}` runs nowhere: it has neither an entry in the image nor a Rust body, `#[cpu({own})]`"
                    );
                    faults.push(*span, fault);
                }
                continue;
            }
        };
        kernel.device = Some(DeviceCode { at: names.len(), params: Vec::new() });
        names.push(name);
    }
    Image { file: None, names }
}

fn read(path: &str) -> Result<String, String> {
    // An absolute path replaces the folder.
    let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let bytes = fs::read(folder.join(path)).map_err(|error| {
        format!("cannot be read ({}); the path starts at the folder of the crate's `Cargo.toml`", error.kind())
    })?;
    String::from_utf8(bytes).map_err(|_| "it is not text: PTX is what `nvcc -ptx` writes, not a cubin".to_owned())
}

fn target(path: &str, found: &Target, newest: &LitStr, faults: &mut Faults) {
    let Some(limit) = Target::parse(&newest.value()) else {
        faults.push(newest.span(), format!("`{}` is no target: `sm_70`, `sm_90a`", newest.value()));
        return;
    };
    if !found.is_newer_than(&limit) {
        return;
    }
    let fault = if found.number > limit.number {
        format!(
            "`{path}` is for `{found}` and newer GPUs, and an `{limit}` cannot run it: compile it with `nvcc -ptx -arch={limit}`, or admit it with `target = \"{found}\"`"
        )
    } else {
        format!(
            "`{path}` is for `{found}`, which later GPUs cannot run: compile it with `nvcc -ptx -arch={limit}`, or admit it with `target = \"{found}\"`"
        )
    };
    faults.push(newest.span(), fault);
}

/// The entry of a kernel, unless it has none.
fn entry<'a>(path: &str, entries: &'a [ptx::Entry], kernel: &Kernel, faults: &mut Faults) -> Option<&'a ptx::Entry> {
    let own = kernel.name();
    let (name, span) = match &kernel.ptx {
        Some(Entry::None(span)) => {
            if kernel.cpu.is_none() {
                faults.push(
                    *span,
                    format!(
                        "`{own}` runs nowhere: it has neither an entry in `{path}` nor a Rust body, `#[cpu({own})]`"
                    ),
                );
            }
            return None;
        }
        Some(Entry::Named(name)) => (name.value(), name.span()),
        None => (own.clone(), kernel.ident.span()),
    };
    if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
        return Some(entry);
    }
    // `_Z5saxpyfPf` is C++ for `saxpy(float, float *)`.
    let mangled = format!("{}{own}", own.len());
    let hint = if let Some(entry) = entries.iter().find(|entry| entry.name.contains(&mangled)) {
        format!(
            "it has `{0}`, which is C++ for it: write `#[ptx(\"{0}\")]` here, or `extern \"C\"` in front of the kernel there",
            entry.name
        )
    } else {
        let there = list(entries.iter().map(|entry| entry.name.as_str()), "none");
        format!(
            "it has {there}. Name the entry with `#[ptx(\"..\")]`; a kernel for the CPU device only has `#[ptx(none)]` and a Rust body, `#[cpu(..)]`"
        )
    };
    faults.push(span, format!("`{path}` has no kernel `{name}`; {hint}"));
    None
}

/// Names in quotes, the first few of them.
fn list<'a>(names: impl Iterator<Item = &'a str>, none: &str) -> String {
    const MOST: usize = 6;
    let mut names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return none.to_owned();
    }
    if names.len() > MOST {
        names.truncate(MOST);
        names.push("..".to_owned());
    }
    names.join(", ")
}

/// Whether the parameters are those of the declaration, as far as that can be seen without types.
fn agrees(path: &str, kernel: &Kernel, entry: &ptx::Entry, faults: &mut Faults) -> bool {
    let (here, there) = (kernel.params.len(), entry.params.len());
    if here != there {
        let count = |n| if n == 1 { "1 parameter".to_owned() } else { format!("{n} parameters") };
        let texts = list(entry.params.iter().map(|param| param.text.as_str()), "none");
        faults.push(
            kernel.ident.span(),
            format!(
                "`{}` is declared with {}, and in `{path}` it has {}: {texts}. A span is one pointer there; its length is a parameter of its own, `#[len_of(x)] n: u32`, at its place in the list",
                kernel.name(),
                count(here),
                count(there),
            ),
        );
        return false;
    }
    let mut agree = true;
    for (param, found) in kernel.params.iter().zip(&entry.params) {
        let Some(wanted) = wanted(param) else { continue };
        if let Some(fault) = differs(&wanted, found) {
            faults.push(
                param.ident.span(),
                format!("`{}` is {}, and in `{path}` it is `{}`: {fault}", param.ident, wanted.text, found.text),
            );
            agree = false;
        }
    }
    agree
}

/// What a kernel must have for a parameter.
struct Wanted {
    text: String,
    size: u64,
    class: Class,
    is_span: bool,
}

/// `None` for types that the compiler only knows, whose size and alignment a constant compares.
fn wanted(param: &Param) -> Option<Wanted> {
    let ty = match &param.kind {
        Kind::Read(_) | Kind::Write(_) | Kind::Out(..) => {
            return Some(Wanted { text: "a span".to_owned(), size: 8, class: Class::Integer, is_span: true });
        }
        Kind::Len(ty, _) | Kind::Value(ty) => ty,
    };
    let Type::Path(path) = ty else { return None };
    let name = path.path.get_ident().filter(|_| path.qself.is_none())?.unraw().to_string();
    let (class, digits) = match name.split_at_checked(1)? {
        ("u" | "i", digits) => (Class::Integer, digits),
        ("f", digits) => (Class::Float, digits),
        _ => return None,
    };
    let size = match (digits, class) {
        ("8", Class::Integer) => 1,
        ("16", Class::Integer) => 2,
        ("32", _) => 4,
        ("64", _) => 8,
        _ => return None,
    };
    Some(Wanted { text: format!("`{name}`", name = ty.to_token_stream()), size, class, is_span: false })
}

/// What is wrong with the parameter that was found.
fn differs(wanted: &Wanted, found: &ptx::Param) -> Option<String> {
    let Wanted { size, class, is_span, .. } = *wanted;
    if found.size != size {
        return Some(format!("{} there, {} here", bytes(found.size), bytes(size)));
    }
    if found.align < size {
        return Some(format!("aligned to {} there, to {} here", bytes(found.align), bytes(size)));
    }
    match found.pointer {
        Some(_) if !is_span => {
            return Some(
                "the file says that it is an address (`.ptr`); are two parameters in the wrong order?".to_owned(),
            );
        }
        Some(Space::Other) => {
            return Some("the file says that it is an address in another memory than `.global`".to_owned());
        }
        _ => {}
    }
    let is_same = found.class == class || found.class == Class::Bits;
    (!is_same).then(|| "the size is right, the type is not; are two parameters in the wrong order?".to_owned())
}

fn bytes(n: u64) -> String {
    if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") }
}
