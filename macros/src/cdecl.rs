//! Declarations for CUDA C++, as parts of a text whose names and numbers are known when the user's crate compiles.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Path;

/// A struct as C++ sees it.
pub(crate) struct Declaration<'a> {
    /// `::escrow`.
    pub(crate) krate: &'a Path,
    /// The trait whose constants describe the fields: `DType` or `DeviceLayout`.
    pub(crate) describes: &'a TokenStream,
    /// The Rust type that has the layout.
    pub(crate) layout: &'a TokenStream,
    /// Parts that make its name in C++.
    pub(crate) name: &'a TokenStream,
    pub(crate) fields: Vec<CField>,
    pub(crate) align: Option<u32>,
    pub(crate) packed: Option<u32>,
    /// Whether it is another name of its only field's type, so that C++ passes it in the same way.
    pub(crate) transparent: bool,
}

pub(crate) struct CField {
    /// As in Rust or `#[device(rename)]`, without `r#`.
    pub(crate) name: String,
    /// Its place in the Rust type.
    pub(crate) member: syn::Member,
    pub(crate) ty: TokenStream,
}

impl Declaration<'_> {
    /// The text, as the elements of a `&[Part]`.
    pub(crate) fn parts(&self) -> TokenStream {
        let Declaration { krate, describes, layout, name, .. } = self;
        let p = quote!(#krate::__private);
        let mut seen = Vec::new();
        let needed = self.fields.iter().filter_map(|field| {
            let ty = &field.ty;
            let text = ty.to_string();
            (!seen.contains(&text)).then(|| {
                seen.push(text);
                quote!(#p::Part::Str(<#ty as #describes>::C_DECL),)
            })
        });
        let needed: Vec<_> = needed.collect();
        let body = if self.transparent { self.alias() } else { self.structure() };
        let checks = {
            let fields = self.fields.iter().filter(|_| !self.transparent).map(|field| {
                let CField { member, .. } = field;
                let c_name = c_name(&field.name);
                let start = ", ".to_owned() + &c_name + ") == ";
                let end = format!(", \"offset of {c_name}\");\n");
                quote! {
                    #p::Part::Str("static_assert(offsetof("), #name #p::Part::Str(#start),
                    #p::Part::Number(::core::mem::offset_of!(#layout, #member) as ::core::primitive::i128),
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
        let Declaration { krate, describes, name, .. } = self;
        let p = quote!(#krate::__private);
        let ty = self.fields.iter().map(|it| &it.ty);
        let ty2 = ty.clone();
        quote! {
            #p::Part::Str("typedef "), #(#p::Part::Str(<#ty as #describes>::C_NAME),)* #p::Part::Str(" "), #name
            #(#p::Part::Str(<#ty2 as #describes>::C_DIMS),)* #p::Part::Str(";\n"),
        }
    }

    fn structure(&self) -> TokenStream {
        let Declaration { krate, describes, name, .. } = self;
        let p = quote!(#krate::__private);
        let start = match (self.packed, self.align) {
            (Some(n), _) => format!("#pragma pack(push, {n})\nstruct "),
            (None, Some(n)) => format!("struct alignas({n}) "),
            (None, None) => "struct ".to_owned(),
        };
        let end = if self.packed.is_some() { "};\n#pragma pack(pop)\n" } else { "};\n" };
        let fields = self.fields.iter().map(|field| {
            let CField { ty, .. } = field;
            let middle = format!(" {}", c_name(&field.name));
            quote! {
                #p::Part::Str("    "), #p::Part::Str(<#ty as #describes>::C_NAME), #p::Part::Str(#middle),
                #p::Part::Str(<#ty as #describes>::C_DIMS), #p::Part::Str(";\n"),
            }
        });
        quote!(#p::Part::Str(#start), #name #p::Part::Str(" {\n"), #(#fields)* #p::Part::Str(#end),)
    }
}

/// `impl Text for #holder`, the text being `parts`.
pub(crate) fn text(krate: &Path, implement: &TokenStream, holder: &TokenStream, parts: &TokenStream) -> TokenStream {
    quote! {
        #implement #krate::__private::Text for #holder {
            const PARTS: &'static [#krate::__private::Part] = &[#parts];
        }
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
    use syn::ext::IdentExt;
    c_name(&ident.unraw().to_string())
}

const KEYWORDS: [&str; 93] = [
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return", "short",
    "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual",
    "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
];
