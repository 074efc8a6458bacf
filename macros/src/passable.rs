//! `#[derive(DevicePassable)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Index, Member, Type};

use crate::ast::{Field, Struct};
use crate::cdecl::{self, CField, Declaration, TypeTexts};
use crate::generics::{Params, without_self};
use crate::valid::{self, Faults};

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let mut faults = Faults::default();
    let it = Struct::read(input, "DevicePassable", &mut faults);
    if it.is_struct() {
        valid::passable(&it, &mut faults);
    }
    let expansion = Expansion::new(&it);
    expansion.validate_bounds(&mut faults);
    faults.check()?;
    Ok(expansion.tokens())
}

/// Types of the language that every derive knows to be passable, so that the device structs need no bounds for them.
fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => is_scalar(&array.elem),
        Type::Path(path) if path.qself.is_none() => path.path.get_ident().is_some_and(|it| {
            let scalars = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "f32", "f64"];
            scalars.iter().any(|scalar| it == scalar)
        }),
        _ => false,
    }
}

/// A field that is on the device.
struct Slot<'a> {
    field: &'a Field<'a>,
    member: Member,
    /// Where its type stands in the user's text.
    span: Span,
    /// Its type with `'static` and `Dyn` for lifetimes and tags.
    erased: TokenStream,
    /// Whether the derive has to ask for its layout with a bound.
    bound: bool,
}

struct Expansion<'a> {
    it: &'a Struct<'a>,
    params: Params<'a>,
    /// `::escrow::__private`.
    p: TokenStream,
    dyn_tag: TokenStream,
    slots: Vec<Slot<'a>>,
    device: Ident,
    body: Ident,
}

impl<'a> Expansion<'a> {
    fn new(it: &'a Struct<'a>) -> Expansion<'a> {
        let krate = &it.krate;
        let p = quote!(#krate::__private);
        let dyn_tag = quote!(#p::Dyn);
        let params = Params::new(&it.input.generics, true);
        let slots = it
            .fields
            .iter()
            .filter(|field| field.device.skip.is_none())
            .enumerate()
            .map(|(at, field)| Slot {
                field,
                member: match (&field.member, &field.device.rename) {
                    (Member::Named(_), Some(rename)) => Member::Named(rename.clone()),
                    (Member::Named(ident), None) => Member::Named(ident.clone()),
                    (Member::Unnamed(_), _) => Member::Unnamed(Index::from(at)),
                },
                span: field.ty.span().resolved_at(Span::call_site()),
                erased: params.erase(field.ty, &dyn_tag),
                // A bound would hide from the compiler what the implementation for a span says, so where there is a
                // lifetime or a tag, the bounds on the struct have to do. Where there is none, it keeps a type that
                // is not passable from being reported in every line of the expansion.
                bound: field.device.len_of.is_none()
                    && !params.mentions_lifetime(field.ty)
                    && !params.mentions_tag(field.ty)
                    && !is_scalar(field.ty),
            })
            .collect();
        let device = format_ident!("{}Device", it.ident());
        let body = format_ident!("{}Body", it.ident());
        Expansion { it, params, p, dyn_tag, slots, device, body }
    }

    /// The derive cannot ask for what a span of a parameter needs, so a parameter without any bound is a mistake.
    fn validate_bounds(&self, faults: &mut Faults) {
        for param in &self.params.types {
            let spans = self.slots.iter().filter(|slot| !slot.bound);
            if !self.params.is_bounded(param)
                && let Some(slot) =
                    spans.into_iter().find(|slot| crate::generics::mentions(slot.erased.clone(), &param.ident))
            {
                faults.push(
                    param.ident.span(),
                    format!(
                        "`{0}` could be any type, but field `{1}` needs an element: write `{0}: DType`",
                        param.ident,
                        slot.field.name()
                    ),
                );
            }
        }
    }

    fn tokens(&self) -> TokenStream {
        let structs = [self.structure(false), self.structure(true)];
        let layout = self.layout();
        let passable = self.passable();
        quote! {
            #(#structs)*
            const _: () = {
                #layout
                #passable
            };
        }
    }

    /// Predicates of the user that speak of kept parameters, and those for fields of a parameter's type.
    fn kept_predicates(&self) -> Vec<TokenStream> {
        let p = &self.p;
        let mut predicates = self.params.kept_predicates(&self.dyn_tag);
        let mut seen = Vec::new();
        for slot in self.slots.iter().filter(|slot| slot.bound) {
            let ty = slot.field.ty;
            let text = ty.to_token_stream().to_string();
            if !seen.contains(&text) {
                seen.push(text);
                predicates.push(quote!(for<'__a> #ty: #p::DeviceLayout));
            }
        }
        predicates
    }

    /// The types of parameters that no field on the device mentions.
    fn unused(&self) -> Vec<&Ident> {
        let types = self.params.types.iter().map(|it| &it.ident);
        types
            .filter(|ident| !self.slots.iter().any(|slot| crate::generics::mentions(slot.erased.clone(), ident)))
            .collect()
    }

    fn marker(&self) -> Option<(Member, TokenStream)> {
        let unused = self.unused();
        if unused.is_empty() {
            return None;
        }
        let member = if self.it.named {
            Member::Named(format_ident!("__unused"))
        } else {
            Member::Unnamed(Index::from(self.slots.len()))
        };
        Some((member, quote!(::core::marker::PhantomData<fn() -> (#(#unused,)*)>)))
    }

    /// `NameDevice` or `NameBody<'k>`.
    fn structure(&self, body: bool) -> TokenStream {
        let p = &self.p;
        let vis = &self.it.input.vis;
        let ident = if body { &self.body } else { &self.device };
        let declarations = self.params.kept_declarations(&self.dyn_tag);
        let arguments = self.params.kept_arguments();
        let predicates = self.kept_predicates();
        let where_clause = quote!(where #(#predicates,)*);
        let (declarations, arguments) =
            if body { (quote!('k, #declarations), quote!('k, #arguments)) } else { (declarations, arguments) };
        let fields = self.slots.iter().map(|slot| {
            let (vis, ty) = (&slot.field.original.vis, &slot.erased);
            let docs = slot.field.original.attrs.iter().filter(|attr| attr.path().is_ident("doc"));
            let ty = match (slot.len(p), body) {
                (Some(_), _) => ty.clone(),
                (None, true) => quote_spanned!(slot.span=> <#ty as #p::DeviceLayout>::Body<'k>),
                (None, false) => quote_spanned!(slot.span=> <#ty as #p::DeviceLayout>::DeviceType),
            };
            match &slot.member {
                Member::Named(name) => quote!(#(#docs)* #vis #name: #ty,),
                Member::Unnamed(_) => quote!(#(#docs)* #vis #ty,),
            }
        });
        let marker = self.marker().map(|(member, ty)| match member {
            Member::Named(name) => quote!(#name: #ty,),
            Member::Unnamed(_) => quote!(#ty,),
        });
        let definition = if self.it.named {
            quote!(struct #ident<#declarations> #where_clause { #(#fields)* #marker })
        } else {
            quote!(struct #ident<#declarations>(#(#fields)* #marker) #where_clause;)
        };
        let name = self.it.name();
        let doc = if body {
            format!("What a Rust kernel body gets for a [`{name}`].")
        } else {
            format!("The C struct that a kernel gets for a [`{name}`].")
        };
        let repr = (!body).then(|| quote!(#[repr(C)]));
        quote! {
            #[doc = #doc]
            #[allow(
                dead_code, missing_docs, missing_debug_implementations, non_camel_case_types, private_bounds,
                private_interfaces, unnameable_types, unreachable_pub
            )]
            #repr
            #vis #definition
            #[automatically_derived]
            impl<#declarations> ::core::clone::Clone for #ident<#arguments> #where_clause {
                fn clone(&self) -> Self {
                    *self
                }
            }
            #[automatically_derived]
            impl<#declarations> ::core::marker::Copy for #ident<#arguments> #where_clause {}
        }
    }

    /// `where` of the implementations for the host struct.
    fn where_clause(&self, more: &[TokenStream]) -> TokenStream {
        let p = &self.p;
        let user = self.it.input.generics.where_clause.iter().flat_map(|it| &it.predicates);
        let layouts = self.slots.iter().filter(|slot| slot.bound).map(|slot| {
            let ty = slot.field.ty;
            quote!(for<'__a> #ty: #p::DeviceLayout)
        });
        // `DeviceType` is `'static`.
        let kept = self.params.types.iter().map(|it| &it.ident);
        quote!(where #(#user,)* #(#kept: 'static,)* #(#layouts,)* #(#more,)*)
    }

    fn layout(&self) -> TokenStream {
        let Expansion { it, params, p, device, body, .. } = self;
        let krate = &it.krate;
        let ident = it.ident();
        let (impl_generics, ty_generics, _) = it.input.generics.split_for_impl();
        let this = quote!(#ident #ty_generics);
        let where_clause = self.where_clause(&[]);
        let arguments = params.kept_arguments();
        let device_type = quote!(#device<#arguments>);

        let named = |param: &syn::TypeParam| {
            let ident = &param.ident;
            if self.slots.iter().any(|slot| slot.bound && *ident == slot.field.ty.to_token_stream().to_string()) {
                Some(quote!(<#ident as #p::DeviceLayout>::TYPE_NAME))
            } else {
                params.has_bound(param, "DType").then(|| quote!(<#ident as #p::DType>::NAME))
            }
        };
        let (name, c_name) = params.names(p, &it.name(), &cdecl::c_type_name(ident), named);
        let declaration = Declaration {
            krate,
            layout: &device_type,
            name: &c_name,
            fields: self
                .slots
                .iter()
                .map(|slot| CField {
                    name: slot.field.device_name(),
                    member: slot.member.clone(),
                    ty: slot.field.ty.to_token_stream(),
                    describes: if slot.len(p).is_some() { quote!(#p::DType) } else { quote!(#p::DeviceLayout) },
                    span: slot.span,
                })
                .collect(),
            align: None,
            packed: None,
            transparent: false,
            layouts: None,
        };
        let texts = TypeTexts { krate, head: quote!(impl #impl_generics), this: &this, where_clause: &where_clause };
        let (name_item, name) = texts.text("Name", &name);
        let (c_name_item, c_name) = texts.text("CName", &c_name);
        let (c_decl_item, c_decl) = texts.text("CDecl", &declaration.parts());
        let inherent = texts.inherent(&c_decl);

        let check = self.layout_check(&device_type);
        // A type that is not passable is reported here, at the field.
        let checks = self.slots.iter().filter(|slot| slot.bound && !params.mentions_kept(slot.field.ty)).map(|slot| {
            let ty = without_self(slot.field.ty, ident);
            quote_spanned!(slot.span=> const _: &::core::primitive::str = <#ty as #p::DeviceLayout>::C_NAME;)
        });
        let to_device = self.values(false);
        let to_body = self.values(true);
        quote! {
            #(#checks)*
            #name_item
            #c_name_item
            #c_decl_item
            #inherent
            #[automatically_derived]
            #[allow(dead_code)]
            impl #impl_generics #this #where_clause {
                // Evaluated when code is made for `to_device`, without which nothing is passed.
                const __LAYOUT: () = #check;
            }

            // SAFETY: the device struct is `repr(C)` with a field for each field of the C struct, of the type that the
            // field's own `DeviceLayout` gives; size, alignment and offsets are checked by `__LAYOUT`.
            #[automatically_derived]
            unsafe impl #impl_generics #p::DeviceLayout for #this #where_clause {
                type DeviceType = #device_type;
                type Body<'__k> = #body<'__k, #arguments>;
                const TYPE_NAME: &'static ::core::primitive::str = #name;
                const C_NAME: &'static ::core::primitive::str = #c_name;
                const C_DECL: &'static ::core::primitive::str = #c_decl;
                unsafe fn to_device(&self) -> Self::DeviceType {
                    const { Self::__LAYOUT };
                    // SAFETY: what the caller promises for this value covers its fields.
                    unsafe { #device { #to_device } }
                }
                unsafe fn to_body<'__k>(&self) -> Self::Body<'__k> {
                    // SAFETY: what the caller promises for this value covers its fields.
                    unsafe { #body { #to_body } }
                }
            }
        }
    }

    fn layout_check(&self, device_type: &TokenStream) -> TokenStream {
        let Expansion { p, it, .. } = self;
        let name = it.name();
        let fields = self.slots.iter().map(|slot| {
            let (name, member, ty) = (slot.field.device_name(), &slot.member, &slot.erased);
            let ty = if slot.len(p).is_some() {
                ty.clone()
            } else {
                quote_spanned!(slot.span=> <#ty as #p::DeviceLayout>::DeviceType)
            };
            quote! {
                #p::FieldLayout {
                    name: #name,
                    offset: ::core::mem::offset_of!(#device_type, #member),
                    size: ::core::mem::size_of::<#ty>(),
                    align: ::core::mem::align_of::<#ty>(),
                },
            }
        });
        quote! {
            #p::check_device(
                #name,
                ::core::mem::size_of::<#device_type>(),
                ::core::mem::align_of::<#device_type>(),
                &[#(#fields)*],
            )
        }
    }

    /// The fields of a device or body struct, with their values.
    fn values(&self, body: bool) -> TokenStream {
        let p = &self.p;
        let fields = self.slots.iter().map(|slot| {
            let (to, from, ty) = (&slot.member, &slot.field.member, slot.field.ty);
            let value = if let Some(len) = slot.len(p) {
                quote_spanned!(slot.span=> <#ty as #p::KernelLen>::from_len(#len))
            } else if body {
                quote_spanned!(slot.span=> <#ty as #p::DeviceLayout>::to_body(&self.#from))
            } else {
                quote_spanned!(slot.span=> <#ty as #p::DeviceLayout>::to_device(&self.#from))
            };
            quote!(#to: #value,)
        });
        let marker = self.marker().map(|(member, _)| quote!(#member: ::core::marker::PhantomData,));
        quote!(#(#fields)* #marker)
    }

    fn passable(&self) -> TokenStream {
        let Expansion { it, params, p, .. } = self;
        let ident = it.ident();
        let (_, ty_generics, _) = it.input.generics.split_for_impl();
        let mut generics = it.input.generics.clone();
        // With one tag, the struct can only be passed on its streams, and the compiler's message is best if the
        // implementation says so itself. Else the fields decide.
        let sole = if let [tag] = *params.tags { Some(tag) } else { None };
        let tag = sole.map_or_else(|| quote!(__S), ToTokens::to_token_stream);
        if sole.is_none() {
            generics.params.push(syn::parse_quote!(__S: #p::StreamTag));
        }
        let (impl_generics, ..) = generics.split_for_impl();
        let visited = || self.slots.iter().filter(|slot| slot.len(p).is_none());
        let mut seen = Vec::new();
        let mut bounds = Vec::new();
        for slot in visited().filter(|slot| sole.is_none() || slot.bound) {
            let ty = slot.field.ty;
            let text = ty.to_token_stream().to_string();
            if !seen.contains(&text) {
                seen.push(text);
                bounds.push(quote!(for<'__a> #ty: #p::DevicePassable<#tag>));
            }
        }
        let where_clause = self.where_clause(&bounds);
        let visits = self.slots.iter().map(|slot| {
            let (member, ty) = (&slot.field.member, slot.field.ty);
            if let Some(len) = slot.len(p) {
                let name = slot.field.name();
                // The host's value is read too, so that nobody is told that the field is never read.
                quote_spanned! {slot.span=>
                    let _ = (&self.#member, <#ty as #p::KernelLen>::check(__check, #name, #len)?);
                }
            } else {
                quote_spanned!(slot.span=> <#ty as #p::DevicePassable<#tag>>::visit(&self.#member, __check)?;)
            }
        });
        quote! {
            // SAFETY: every field on the device is visited; the others are plain lengths.
            #[automatically_derived]
            unsafe impl #impl_generics #p::DevicePassable<#tag> for #ident #ty_generics #where_clause {
                fn visit(&self, __check: &mut #p::ArgCheck<'_, #tag>) -> ::core::result::Result<(), #p::Error> {
                    #(#visits)*
                    ::core::result::Result::Ok(())
                }
            }
        }
    }
}

impl Slot<'_> {
    /// The length that the derive fills in.
    fn len(&self, p: &TokenStream) -> Option<TokenStream> {
        let path = &self.field.device.len_of.as_ref()?.path;
        let span = path[0].span();
        // `offset_of!` sees fields only: a `Deref` on the way could answer differently each time.
        Some(quote_spanned! {span=>
            { let _ = ::core::mem::offset_of!(Self, #(#path).*); #p::span_len(&self #(.#path)*) }
        })
    }
}
