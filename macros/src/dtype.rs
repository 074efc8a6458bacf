//! `#[derive(DType)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::DeriveInput;
use syn::spanned::Spanned;

use crate::ast::Struct;
use crate::cdecl::{self, CField, Declaration, TypeTexts};
use crate::generics::{Params, leaf, without_self};
use crate::valid::{self, Faults};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut faults = Faults::default();
    let it = Struct::read(input, "DType", &mut faults);
    let params = Params::new(&input.generics, false);
    if it.is_struct() {
        valid::element(&it, &params, &mut faults);
    }
    faults.check()?;
    Ok(implement(&it, &params))
}

/// Has the compiler see that what looked like one type to `validate_generics` is one.
fn one_type(
    it: &Struct<'_>,
    params: &Params<'_>,
    impl_generics: &syn::ImplGenerics<'_>,
    where_clause: &TokenStream,
) -> TokenStream {
    if it.repr.transparent.is_some() || matches!(it.repr.packed, Some((1, _))) || !params.is_generic() {
        return TokenStream::new();
    }
    let leaves: Vec<_> = it.fields.iter().map(|field| leaf(field.ty)).collect();
    let first = leaves[0];
    quote! {
        #[allow(dead_code)]
        fn __one_type #impl_generics (#(_: #leaves,)*) #where_clause {
            #(let _: ::core::marker::PhantomData<#first> = ::core::marker::PhantomData::<#leaves>;)*
        }
    }
}

/// The proof that each field is an element: by bounds where it depends on parameters, else by a check.
struct Elements {
    bounds: Vec<TokenStream>,
    checks: Vec<TokenStream>,
    /// The types in them, as texts.
    seen: Vec<String>,
}

fn elements(it: &Struct<'_>, params: &Params<'_>, types: &[TokenStream]) -> Elements {
    let krate = &it.krate;
    let p = quote!(#krate::__private);
    let mut all = Elements { bounds: Vec::new(), checks: Vec::new(), seen: Vec::new() };
    for (field, ty) in it.fields.iter().zip(types) {
        // An array is an element if what it is made of is one.
        let leaf = leaf(field.ty);
        let depends = params.mentions_kept(leaf);
        let text = if depends { leaf.to_token_stream().to_string() } else { ty.to_string() };
        if all.seen.contains(&text) {
            continue;
        }
        all.seen.push(text);
        if depends {
            all.bounds.push(quote!(#leaf: #p::DType));
        } else if !params.mentions_kept(field.ty) {
            let span = field.ty.span().resolved_at(Span::call_site());
            all.checks.push(quote_spanned!(span=> const _: () = <#ty as #p::DType>::VALID;));
        }
    }
    all
}

/// The proof that a concrete struct has no padding, a size and an alignment of at most 16.
fn layout_check(it: &Struct<'_>, types: &[TokenStream]) -> TokenStream {
    let krate = &it.krate;
    let p = quote!(#krate::__private);
    let (ident, name) = (it.ident(), it.name());
    let fields = it.fields.iter().zip(types).map(|(field, ty)| {
        let (name, member) = (field.name(), &field.member);
        quote! {
            #p::FieldLayout {
                name: #name,
                offset: ::core::mem::offset_of!(#ident, #member),
                size: ::core::mem::size_of::<#ty>(),
                align: ::core::mem::align_of::<#ty>(),
            },
        }
    });
    let fields = quote! {
        // Each `offset_of!` is a constant that the compiler looks at by itself, so each field has one.
        const __FIELDS: &[#p::FieldLayout] = &[#(#fields)*];
    };
    let span = it.span().resolved_at(Span::call_site());
    let check = quote_spanned! {span=>
        const _: () = {
            // By one name, so that the compiler's message points at the struct.
            use #p::check_element as __check;
            __check(#name, ::core::mem::size_of::<#ident>(), ::core::mem::align_of::<#ident>(), __FIELDS);
        };
    };
    quote!(#fields #check)
}

/// Parts of the declaration for CUDA C++.
fn declaration(it: &Struct<'_>, layout: &TokenStream, name: &TokenStream, has_layout: bool) -> TokenStream {
    let krate = &it.krate;
    let fields = it.fields.iter().map(|field| CField {
        name: field.name(),
        member: field.member.clone(),
        ty: field.ty.to_token_stream(),
        describes: quote!(#krate::__private::DType),
        span: field.ty.span().resolved_at(Span::call_site()),
    });
    let declaration = Declaration {
        krate,
        layout,
        name,
        fields: fields.collect(),
        align: it.repr.align.map(|(n, _)| n),
        packed: it.repr.packed.map(|(n, _)| n),
        transparent: it.repr.transparent.is_some(),
        layouts: has_layout.then(|| quote!(__FIELDS)),
    };
    declaration.parts()
}

fn implement(it: &Struct<'_>, params: &Params<'_>) -> TokenStream {
    let krate = &it.krate;
    let p = quote!(#krate::__private);
    let ident = it.ident();
    let name = it.name();
    let generic = !it.input.generics.params.is_empty();
    let (impl_generics, ty_generics, where_clause) = it.input.generics.split_for_impl();
    let this = quote!(#ident #ty_generics);
    let types: Vec<TokenStream> = it
        .fields
        .iter()
        .map(|field| if generic { field.ty.to_token_stream() } else { without_self(field.ty, ident) })
        .collect();

    let Elements { bounds, checks, seen } = elements(it, params, &types);
    let predicates: Vec<_> = where_clause.iter().flat_map(|it| &it.predicates).collect();
    let where_clause = quote!(where #(#predicates,)* #(#bounds,)*);
    // What an element has to be besides, such as `Copy`, is asked for in one place, `impl DType`, and then taken from it.
    // `for<'__a>` keeps the compiler from looking into it before that.
    let where_element = quote!(#where_clause for<'__a> #this: #p::DType,);

    let layout_check =
        if generic { one_type(it, params, &impl_generics, &where_clause) } else { layout_check(it, &types) };
    // For other structs, the check above has said so.
    let valid = generic.then(|| quote!(const { <Self as #p::DType>::VALID };));
    let named = |param: &syn::TypeParam| {
        let ident = &param.ident;
        let known = params.has_bound(param, "DType") || seen.contains(&ident.to_string());
        known.then(|| quote!(<#ident as #p::DType>::NAME))
    };
    let (name_parts, c_name_parts) = params.names(&p, &name, &cdecl::c_type_name(ident), named);
    let texts = TypeTexts { krate, head: quote!(impl #impl_generics), this: &this, where_clause: &where_clause };
    let (name_item, rust_name) = texts.text("Name", &name_parts);
    let (c_name_item, c_name) = texts.text("CName", &c_name_parts);
    let (c_decl_item, c_decl) = texts.text("CDecl", &declaration(it, &this, &c_name_parts, !generic));
    let inherent = texts.inherent(&c_decl);
    let print = print(it);
    let passable = passable(it, &this, &where_element);

    quote! {
        const _: () = {
            #(#checks)*
            #layout_check
            #name_item
            #c_name_item
            #c_decl_item
            #inherent

            // SAFETY: zero is valid for every field, as every pattern of bits is.
            #[automatically_derived]
            unsafe impl #impl_generics #p::bytemuck::Zeroable for #this #where_element {}
            // SAFETY: the fields are elements, and the checks and bounds above prove that nothing lies between them.
            #[automatically_derived]
            unsafe impl #impl_generics #p::bytemuck::Pod for #this #where_element {}
            // SAFETY: the fields are elements, so written memory.
            #[automatically_derived]
            unsafe impl #impl_generics #p::Init for #this #where_clause {}
            // SAFETY: the fields are elements, and the checks and bounds above prove that nothing lies between them; size
            // and alignment are proven by the checks, or for a generic struct by `VALID`.
            #[automatically_derived]
            unsafe impl #impl_generics #p::DType for #this #where_clause {
                const NAME: &'static ::core::primitive::str = #rust_name;
                const C_NAME: &'static ::core::primitive::str = #c_name;
                const C_DECL: &'static ::core::primitive::str = #c_decl;
                fn print(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #print
                }
            }
            // SAFETY: an element has the layout of the C type that it names, and no pointers.
            #[automatically_derived]
            unsafe impl #impl_generics #p::DeviceLayout for #this #where_element {
                type DeviceType = Self;
                type Body<'__k> = Self;
                const TYPE_NAME: &'static ::core::primitive::str = <Self as #p::DType>::NAME;
                const C_NAME: &'static ::core::primitive::str = <Self as #p::DType>::C_NAME;
                const C_DECL: &'static ::core::primitive::str = <Self as #p::DType>::C_DECL;
                unsafe fn to_device(&self) -> Self::DeviceType {
                    #valid
                    *self
                }
                unsafe fn to_body<'__k>(&self) -> Self::Body<'__k> {
                    #valid
                    *self
                }
            }
            #passable
        };
    }
}

/// `DevicePassable` for streams of every tag: there is nothing to visit.
fn passable(it: &Struct<'_>, this: &TokenStream, where_clause: &TokenStream) -> TokenStream {
    let krate = &it.krate;
    let p = quote!(#krate::__private);
    let mut generics = it.input.generics.clone();
    generics.params.push(syn::parse_quote!(__S: #p::StreamTag));
    let (impl_generics, ..) = generics.split_for_impl();
    quote! {
        // SAFETY: there is no span inside.
        #[automatically_derived]
        unsafe impl #impl_generics #p::DevicePassable<__S> for #this #where_clause {
            fn visit(&self, _: &mut #p::ArgCheck<'_, __S>) -> ::core::result::Result<(), #p::Error> {
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// `Name { x: 1.0, y: 2 }`. Fields are copied out first, since those of a packed struct cannot be borrowed.
fn print(it: &Struct<'_>) -> TokenStream {
    let krate = &it.krate;
    let name = it.name();
    let p = quote!(#krate::__private);
    let fields = it.fields.iter().map(|field| {
        let (member, ty) = (&field.member, field.ty);
        let span = ty.span().resolved_at(Span::call_site());
        let name = if it.named { field.name() } else { String::new() };
        quote_spanned! {span=>
            <#ty as #p::DType>::print(&{ self.#member }, __print.field(#name)?)?;
        }
    });
    let close = if it.named { " }" } else { ")" };
    quote! {
        let mut __print = #p::PrintStruct::new(__f, #name)?;
        #(#fields)*
        __print.end(#close)
    }
}
