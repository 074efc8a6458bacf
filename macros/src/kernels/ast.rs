//! What a kernel set is made of.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, ExprPath, Lit, LitStr, Member, Path, Signature, Token, Type, Visibility};

use super::device::DeviceCode;
use crate::valid::Faults;

/// The arguments of the attribute: `pub struct Blas, ptx = "blas.ptx", target = "sm_80", image, crate = path`.
pub(crate) struct Set {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    /// The file with the device code, from the folder of the crate's `Cargo.toml` on.
    pub(crate) ptx: Option<LitStr>,
    /// The newest target that the file may have.
    pub(crate) target: Option<LitStr>,
    /// The device code may come when the program runs, with `ptx` or without.
    pub(crate) image: bool,
    /// The crate `escrow`.
    pub(crate) krate: Path,
}

impl Set {
    pub(crate) fn read(args: TokenStream, faults: &mut Faults) -> Option<Set> {
        let parsed = (|input: ParseStream<'_>| Set::parse(input, faults)).parse2(args);
        match parsed {
            Ok(set) => Some(set),
            Err(error) => {
                faults.add(error);
                None
            }
        }
    }

    fn parse(input: ParseStream<'_>, faults: &mut Faults) -> syn::Result<Set> {
        const USAGE: &str = "name the struct that holds the kernels: `#[escrow::kernels(pub struct Name)]`";
        let vis: Visibility = input.parse()?;
        if !input.peek(Token![struct]) {
            return Err(input.error(USAGE));
        }
        input.parse::<Token![struct]>()?;
        let ident = input.parse().map_err(|error: syn::Error| syn::Error::new(error.span(), USAGE))?;
        let (mut krate, mut ptx, mut target, mut image) = (None, None, None, None);
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let key = input.call(Ident::parse_any)?;
            if key != "image" {
                input.parse::<Token![=]>()?;
            }
            let is_again = if key == "image" {
                image.replace(()).is_some()
            } else if key == "crate" {
                krate.replace(input.call(Path::parse_mod_style)?).is_some()
            } else if key == "ptx" {
                ptx.replace(text(
                    input,
                    "the path of a file, `ptx = \"blas.ptx\"`, from the folder of `Cargo.toml` on",
                )?)
                .is_some()
            } else if key == "target" {
                target.replace(text(input, "the newest target that the PTX may have, `target = \"sm_80\"`")?).is_some()
            } else {
                return Err(syn::Error::new(
                    key.span(),
                    format!(
                        "`{key}` is not an argument of `kernels`: there are `struct Name`, `ptx = \"file.ptx\"`, `target = \"sm_80\"`, `image` and `crate = path`"
                    ),
                ));
            };
            if is_again {
                faults.push(key.span(), format!("`{key}` is given twice"));
            }
        }
        if let (None, Some(target)) = (&ptx, &target) {
            faults.push(
                target.span(),
                "`target` bounds the target of a PTX file, and there is none: `ptx = \"blas.ptx\"`",
            );
        }
        let krate = krate.unwrap_or_else(|| syn::parse_quote!(::escrow));
        Ok(Set { vis, ident, ptx, target, image: image.is_some(), krate })
    }
}

/// A string; `what` says which.
fn text(input: ParseStream<'_>, what: &str) -> syn::Result<LitStr> {
    // A path may come out of a `macro_rules`, in a group that nobody sees.
    match input.parse()? {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text),
        Expr::Group(group) => match *group.expr {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text),
            expr => Err(syn::Error::new(expr.span(), format!("this is a string: {what}"))),
        },
        expr => Err(syn::Error::new(expr.span(), format!("this is a string: {what}"))),
    }
}

/// The extern block.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) attrs: Vec<Attribute>,
    /// Tokens of each declaration.
    pub(crate) items: Vec<TokenStream>,
    /// Every name in the block.
    pub(crate) names: Vec<String>,
}

impl Block {
    pub(crate) fn read(input: TokenStream, faults: &mut Faults) -> Block {
        let names = names(input.clone());
        match (|input: ParseStream<'_>| Block::parse(input, faults)).parse2(input) {
            Ok(block) => Block { names, ..block },
            Err(error) => {
                faults.add(error);
                Block { names, ..Block::default() }
            }
        }
    }

    fn parse(input: ParseStream<'_>, faults: &mut Faults) -> syn::Result<Block> {
        let attrs = input.call(Attribute::parse_outer)?;
        let unsafety: Option<Token![unsafe]> = input.parse()?;
        if !input.peek(Token![extern]) {
            return Err(input.error(
                "kernels are declared in an extern block: `unsafe extern \"kernel\" { safe fn ..; unsafe fn ..; }`",
            ));
        }
        let keyword: Token![extern] = input.parse()?;
        if unsafety.is_none() {
            faults.push(
                keyword.span,
                "write `unsafe extern \"kernel\"`: nobody can check what a kernel does, so the declarations promise it. `safe fn` promises that for every launch it admits, all accesses stay inside of the spans passed and no two threads race",
            );
        }
        let abi: Option<LitStr> = input.parse()?;
        match abi {
            Some(abi) if abi.value() == "kernel" => {}
            Some(abi) => faults.push(
                abi.span(),
                format!(
                    "kernels are declared in `unsafe extern \"kernel\"`, not `\"{}\"`: they are launched, not called",
                    abi.value()
                ),
            ),
            None => faults.push(
                keyword.span,
                "write `unsafe extern \"kernel\"`: without the name this is a block of C functions",
            ),
        }
        let content;
        syn::braced!(content in input);
        let mut attrs = attrs;
        attrs.extend(content.call(Attribute::parse_inner)?);
        Ok(Block { attrs, items: items(content.parse()?), names: Vec::new() })
    }
}

/// Cuts a block into declarations, so that a fault in one does not hide those in others.
fn items(block: TokenStream) -> Vec<TokenStream> {
    let mut items = Vec::new();
    let mut item = Vec::new();
    for token in block {
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        item.push(token);
        if ends {
            items.push(item.drain(..).collect());
        }
    }
    if !item.is_empty() {
        items.push(item.into_iter().collect());
    }
    items
}

/// All identifiers, without `r#`.
pub(crate) fn names(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(names(group.stream())),
            TokenTree::Ident(ident) => found.push(ident.unraw().to_string()),
            _ => {}
        }
    }
    found
}

/// `safe` or `unsafe`.
#[derive(Clone, Copy)]
pub(crate) enum Safety {
    Safe,
    Unsafe,
    /// Neither; a fault.
    Missing,
}

/// One declaration, as it is written.
pub(crate) struct Item {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) safety: Safety,
    pub(crate) sig: Signature,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Item> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let safety = if input.peek(Token![unsafe]) {
            input.parse::<Token![unsafe]>()?;
            Safety::Unsafe
        } else if is_word(input, "safe") {
            input.parse::<Ident>()?;
            Safety::Safe
        } else {
            Safety::Missing
        };
        if !(input.peek(Token![fn])
            || input.peek(Token![const])
            || input.peek(Token![async])
            || input.peek(Token![extern]))
        {
            return Err(input.error("a kernel set holds kernels only: `safe fn name(..);` or `unsafe fn name(..);`"));
        }
        let sig = input.parse()?;
        if input.peek(syn::token::Brace) {
            return Err(input.error(
                "a declaration ends with `;`: the Rust body for the CPU device is a function of its own, named by `#[cpu(..)]`",
            ));
        }
        input.parse::<Token![;]>()?;
        if !input.is_empty() {
            return Err(input.error("unexpected"));
        }
        Ok(Item { attrs, vis, safety, sig })
    }
}

/// Whether the next token is this name, which is no keyword.
pub(crate) fn is_word(input: ParseStream<'_>, word: &str) -> bool {
    input.fork().parse::<Ident>().is_ok_and(|ident| ident == word)
}

/// A kernel without faults.
pub(crate) struct Kernel {
    /// Docs and whatever else goes to the method.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) is_unsafe: bool,
    pub(crate) ident: Ident,
    /// The user's name for the launching stream's tag.
    pub(crate) tag: Option<Ident>,
    pub(crate) params: Vec<Param>,
    pub(crate) cpu: Option<Cpu>,
    /// What `#[ptx(..)]` says.
    pub(crate) ptx: Option<Entry>,
    /// Its entry in the device code, once what is known of that was compared.
    pub(crate) device: Option<DeviceCode>,
    pub(crate) requires: Vec<Condition>,
    pub(crate) launch: Launch,
}

impl Kernel {
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

pub(crate) struct Param {
    pub(crate) ident: Ident,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    /// `&[T]`.
    Read(Type),
    /// `&mut [T]`.
    Write(Type),
    /// `#[out(..)] &mut [T]`.
    Out(Type, Coverage),
    /// `#[len_of(..)]`.
    Len(Type, SpanPath),
    /// Anything else, by value.
    Value(Type),
}

/// What `out` says.
#[derive(Clone, Copy)]
pub(crate) enum Coverage {
    Each,
    All,
}

/// `#[cpu(..)]`.
pub(crate) struct Cpu {
    pub(crate) single: bool,
    pub(crate) body: ExprPath,
}

/// `#[ptx(..)]`.
pub(crate) enum Entry {
    /// Its name in the file.
    Named(LitStr),
    /// `none`: it has no device code.
    None(Span),
}

/// `#[requires(..)]`.
pub(crate) struct Condition {
    pub(crate) expr: Expr,
    pub(crate) text: String,
}

/// `#[launch(..)]`.
pub(crate) enum Launch {
    Cover(SpanPath),
    Computed {
        grid: Vec<Expr>,
        block: Vec<Expr>,
        shared: Option<Expr>,
    },
    Bounded {
        grid: Vec<Expr>,
        block: Vec<Expr>,
        shared: Option<Expr>,
    },
    /// There is none: the caller chooses.
    Chosen,
}

/// `x` or `p.field.field`.
pub(crate) struct SpanPath {
    pub(crate) root: Ident,
    pub(crate) fields: Vec<Member>,
}

impl SpanPath {
    pub(crate) fn span(&self) -> Span {
        self.root.span()
    }
}

impl Parse for SpanPath {
    fn parse(input: ParseStream<'_>) -> syn::Result<SpanPath> {
        let root = input.call(Ident::parse_any)?;
        let mut fields = Vec::new();
        while input.peek(Token![.]) {
            input.parse::<Token![.]>()?;
            fields.push(input.parse()?);
        }
        Ok(SpanPath { root, fields })
    }
}

impl ToTokens for SpanPath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let SpanPath { root, fields } = self;
        tokens.extend(quote::quote!(#root #(.#fields)*));
    }
}
