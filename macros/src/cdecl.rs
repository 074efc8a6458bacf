//! Declarations for CUDA C++, as parts of a text whose names and numbers are known when the user's crate compiles.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Lit, LitStr, Path};

/// A struct as C++ sees it.
pub(crate) struct Declaration<'a> {
    /// `::escrow`.
    pub(crate) krate: &'a Path,
    /// The Rust type that has the layout.
    pub(crate) layout: &'a TokenStream,
    /// Parts that make its name in C++.
    pub(crate) name: &'a TokenStream,
    pub(crate) fields: Vec<CField>,
    pub(crate) align: Option<u32>,
    pub(crate) packed: Option<u32>,
    /// Whether it is another name of its only field's type, so that C++ passes it in the same way.
    pub(crate) transparent: bool,
    /// An array with the layouts of the fields, where there is one.
    pub(crate) layouts: Option<TokenStream>,
}

pub(crate) struct CField {
    /// As in Rust or `#[device(rename)]`, without `r#`.
    pub(crate) name: String,
    /// Its place in the Rust type.
    pub(crate) member: syn::Member,
    pub(crate) ty: TokenStream,
    /// The trait whose constants describe the type: `DType` or `DeviceLayout`.
    pub(crate) describes: TokenStream,
    /// Where the type stands in the user's text.
    pub(crate) span: Span,
}

impl CField {
    /// A constant of the field's type. All messages about a type without it point at the same place and say the same,
    /// so the compiler shows one of them.
    fn constant(&self, name: &str) -> TokenStream {
        let (ty, describes, name) = (&self.ty, &self.describes, Ident::new(name, self.span));
        quote_spanned!(self.span=> <#ty as #describes>::#name)
    }
}

impl Declaration<'_> {
    /// The text, as the elements of a `&[Part]`.
    pub(crate) fn parts(&self) -> TokenStream {
        let Declaration { krate, layout, name, .. } = self;
        let p = quote!(#krate::__private);
        let mut seen = Vec::new();
        let needed = self.fields.iter().filter_map(|field| {
            let text = field.ty.to_string();
            (!seen.contains(&text)).then(|| {
                seen.push(text);
                let decl = field.constant("C_DECL");
                quote!(#p::Part::Str(#decl),)
            })
        });
        let needed: Vec<_> = needed.collect();
        let body = if self.transparent { self.alias() } else { self.structure() };
        let checks = {
            let fields = self.fields.iter().enumerate().filter(|_| !self.transparent).map(|(at, field)| {
                let CField { member, .. } = field;
                let offset = self.layouts.as_ref().map_or_else(
                    || quote!(::core::mem::offset_of!(#layout, #member)),
                    |layouts| quote!(#layouts[#at].offset),
                );
                let c_name = c_name(&field.name);
                let start = ", ".to_owned() + &c_name + ") == ";
                let end = format!(", \"offset of {c_name}\");\n");
                quote! {
                    #p::Part::Str("static_assert(offsetof("), #name #p::Part::Str(#start),
                    #p::Part::Number(#offset as ::core::primitive::i128),
                    #p::Part::Str(#end),
                }
            });
            quote! {
                #p::Part::Str("static_assert(sizeof("), #name #p::Part::Str(") == "),
                #p::Part::Number(::core::mem::size_of::<#layout>() as ::core::primitive::i128),
                #p::Part::Str(", \"size\");\nstatic_assert(alignof("), #name #p::Part::Str(") == "),
                #p::Part::Number(::core::mem::align_of::<#layout>() as ::core::primitive::i128),
                #p::Part::Str(", \"alignment\");\n"),
                #(#fields)*
            }
        };
        quote! {
            #(#needed)*
            #p::Part::Str("#ifndef ESCROW_DECL_"), #name #p::Part::Str("\n#define ESCROW_DECL_"), #name #p::Part::Str("\n"),
            #body
            #checks
            #p::Part::Str("#endif\n"),
        }
    }

    fn alias(&self) -> TokenStream {
        let Declaration { krate, name, .. } = self;
        let p = quote!(#krate::__private);
        let base = self.fields.iter().map(|it| it.constant("C_NAME"));
        let dims = self.fields.iter().map(|it| it.constant("C_DIMS"));
        quote! {
            #p::Part::Str("typedef "), #(#p::Part::Str(#base),)* #p::Part::Str(" "), #name
            #(#p::Part::Str(#dims),)* #p::Part::Str(";\n"),
        }
    }

    fn structure(&self) -> TokenStream {
        let Declaration { krate, name, .. } = self;
        let p = quote!(#krate::__private);
        let start = match (self.packed, self.align) {
            (Some(n), _) => format!("#pragma pack(push, {n})\nstruct "),
            (None, Some(n)) => format!("struct alignas({n}) "),
            (None, None) => "struct ".to_owned(),
        };
        let end = if self.packed.is_some() { "};\n#pragma pack(pop)\n" } else { "};\n" };
        let fields = self.fields.iter().map(|field| {
            let (base, dims) = (field.constant("C_NAME"), field.constant("C_DIMS"));
            let middle = format!(" {}", c_name(&field.name));
            quote! {
                #p::Part::Str("    "), #p::Part::Str(#base), #p::Part::Str(#middle),
                #p::Part::Str(#dims), #p::Part::Str(";\n"),
            }
        });
        quote!(#p::Part::Str(#start), #name #p::Part::Str(" {\n"), #(#fields)* #p::Part::Str(#end),)
    }
}

/// A constant text of a type: a literal where it has no parameters, else parts put together when they are known.
pub(crate) struct TypeTexts<'a> {
    pub(crate) krate: &'a Path,
    /// `impl<..>`.
    pub(crate) head: TokenStream,
    pub(crate) this: &'a TokenStream,
    pub(crate) where_clause: &'a TokenStream,
}

impl TypeTexts<'_> {
    /// The implementation that makes the text, and the path to it.
    pub(crate) fn text(&self, kind: &str, parts: &TokenStream) -> (TokenStream, TokenStream) {
        let TypeTexts { krate, head, this, where_clause } = self;
        let kind = Ident::new(kind, Span::call_site());
        let p = quote!(#krate::__private);
        let parts = joined(parts);
        if let [one] = &parts[..]
            && let Some(text) = literal(&one.clone().into_iter().collect::<Vec<_>>())
        {
            return (TokenStream::new(), text.to_token_stream());
        }
        let item = quote! {
            #[automatically_derived]
            #head #p::Text<#p::kind::#kind> for #this #where_clause {
                const PARTS: &'static [#p::Part] = &[#(#parts,)*];
            }
        };
        (item, quote!(<Self as #p::Text<#p::kind::#kind>>::STR))
    }

    /// `Type::C_DECL` without a trait in scope, and without a choice between two if both are.
    pub(crate) fn inherent(&self, path: &TokenStream) -> TokenStream {
        let TypeTexts { head, this, where_clause, .. } = self;
        quote! {
            #[automatically_derived]
            #[allow(dead_code, unreachable_pub)]
            #head #this #where_clause {
                /// The declaration of this type for CUDA C++, with `static_assert`s on size, alignment and offsets, and
                /// the declarations of what is inside.
                pub const C_DECL: &'static ::core::primitive::str = #path;
            }
        }
    }
}

/// The parts, with neighbours that are literals made one: each part is work for the compiler. They are not parsed, which
/// would cost more than it saves.
fn joined(parts: &TokenStream) -> Vec<TokenStream> {
    let mut joined: Vec<Vec<TokenTree>> = Vec::new();
    let mut part = Vec::new();
    for token in parts.clone() {
        if !matches!(&token, TokenTree::Punct(it) if it.as_char() == ',') {
            part.push(token);
        } else if let (Some(before), Some(text)) = (joined.last().and_then(|it| literal(it)), literal(&part)) {
            let both = Literal::string(&(before.value() + &text.value()));
            part.pop();
            part.push(Group::new(Delimiter::Parenthesis, TokenTree::from(both).into()).into());
            joined.pop();
            joined.push(std::mem::take(&mut part));
        } else {
            joined.push(std::mem::take(&mut part));
        }
    }
    joined.into_iter().map(TokenStream::from_iter).collect()
}

/// The text of `Part::Str("..")`.
fn literal(part: &[TokenTree]) -> Option<LitStr> {
    let [.., TokenTree::Ident(name), TokenTree::Group(arguments)] = part else { return None };
    let mut arguments = arguments.stream().into_iter();
    match (arguments.next()?, arguments.next()) {
        (TokenTree::Literal(text), None) if name == "Str" => match Lit::new(text) {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Name of a field in C++: keywords get a `_` behind them, fields of tuple structs one in front.
pub(crate) fn c_name(name: &str) -> String {
    if name.starts_with(|it: char| it.is_ascii_digit()) {
        format!("_{name}")
    } else if KEYWORDS.contains(&name) {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// A struct's name in C++: names of C++'s own types would be taken.
pub(crate) fn c_type_name(ident: &Ident) -> String {
    c_name(&ident.unraw().to_string())
}

const KEYWORDS: [&str; 93] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];
