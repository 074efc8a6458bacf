//! Which parameters a type mentions, and types with parameters replaced.

use proc_macro2::{Group, Ident, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{ConstParam, GenericParam, Generics, Lifetime, Token, Type, TypeParam, TypeParamBound, WherePredicate};

/// The parameters of a struct, by what they mean to a device.
pub(crate) struct Params<'a> {
    generics: &'a Generics,
    pub(crate) lifetimes: Vec<&'a Lifetime>,
    /// Type parameters with the bound `StreamTag`.
    pub(crate) tags: Vec<&'a Ident>,
    pub(crate) types: Vec<&'a TypeParam>,
    pub(crate) consts: Vec<&'a ConstParam>,
}

impl<'a> Params<'a> {
    /// `tags`: whether parameters with the bound `StreamTag` are told apart from the other types.
    pub(crate) fn new(generics: &'a Generics, tags: bool) -> Params<'a> {
        let mut params =
            Params { generics, lifetimes: Vec::new(), tags: Vec::new(), types: Vec::new(), consts: Vec::new() };
        for param in &generics.params {
            match param {
                GenericParam::Lifetime(it) => params.lifetimes.push(&it.lifetime),
                GenericParam::Type(it) if tags && has_bound(generics, it, "StreamTag") => params.tags.push(&it.ident),
                GenericParam::Type(it) => params.types.push(it),
                GenericParam::Const(it) => params.consts.push(it),
            }
        }
        params
    }

    /// Whether the struct stands for more than one type, lifetimes and tags aside.
    pub(crate) fn is_generic(&self) -> bool {
        !self.types.is_empty() || !self.consts.is_empty()
    }

    /// Whether a trait is asked of the parameter anywhere.
    pub(crate) fn is_bounded(&self, param: &TypeParam) -> bool {
        let predicates = self.generics.where_clause.iter().flat_map(|it| &it.predicates);
        param.bounds.iter().any(|it| matches!(it, TypeParamBound::Trait(_)))
            || predicates.into_iter().any(|it| mentions(it.to_token_stream(), &param.ident))
    }

    pub(crate) fn has_bound(&self, param: &TypeParam, bound: &str) -> bool {
        has_bound(self.generics, param, bound)
    }

    /// Parts of the name of the type with its arguments, `Pair<f32, 4>`, for Rust and for C++. `names` gives the path to
    /// the name of a type parameter; those without one are left out.
    pub(crate) fn names(
        &self,
        p: &TokenStream,
        name: &str,
        c_name: &str,
        names: impl Fn(&TypeParam) -> Option<TokenStream>,
    ) -> (TokenStream, TokenStream) {
        let mut rust = Vec::new();
        let mut c = quote!(#p::Part::Str(#c_name),);
        for path in self.types.iter().filter_map(|it| names(it)) {
            rust.push(quote!(#p::Part::Str(#path),));
            c.extend(quote!(#p::Part::Str("_"), #p::Part::Ident(#path),));
        }
        for ident in self.consts.iter().map(|it| &it.ident) {
            rust.push(quote!(#p::Part::Number(#ident as ::core::primitive::i128),));
            c.extend(quote!(#p::Part::Str("_"), #p::Part::IdentNumber(#ident as ::core::primitive::i128),));
        }
        let rust = if let Some((first, rest)) = rust.split_first() {
            let rest = rest.iter().map(|it| quote!(#p::Part::Str(", "), #it));
            quote!(#p::Part::Str(#name), #p::Part::Str("<"), #first #(#rest)* #p::Part::Str(">"),)
        } else {
            quote!(#p::Part::Str(#name),)
        };
        (rust, c)
    }

    /// Whether these tokens depend on a parameter that a device struct keeps.
    pub(crate) fn mentions_kept(&self, tokens: &impl ToTokens) -> bool {
        self.mentions_type(tokens) || self.consts.iter().any(|it| mentions(tokens.to_token_stream(), &it.ident))
    }

    pub(crate) fn mentions_type(&self, tokens: &impl ToTokens) -> bool {
        self.types.iter().any(|it| mentions(tokens.to_token_stream(), &it.ident))
    }

    pub(crate) fn mentions_tag(&self, tokens: &impl ToTokens) -> bool {
        self.tags.iter().any(|it| mentions(tokens.to_token_stream(), it))
    }

    pub(crate) fn mentions_lifetime(&self, tokens: &impl ToTokens) -> bool {
        self.lifetimes.iter().any(|it| mentions_lifetime(tokens.to_token_stream(), it))
    }

    /// The tokens with `'static` for every lifetime of the struct and `dyn_tag` for every tag.
    pub(crate) fn erase(&self, tokens: &impl ToTokens, dyn_tag: &TokenStream) -> TokenStream {
        map(tokens.to_token_stream(), &|before, tokens| match tokens {
            [TokenTree::Punct(quote), TokenTree::Ident(name), ..]
                if quote.as_char() == '\'' && self.lifetimes.iter().any(|it| it.ident == *name) =>
            {
                Some((2, quote!('static)))
            }
            [TokenTree::Ident(ident), ..] if !before.is_path() && self.tags.contains(&ident) => {
                Some((1, dyn_tag.clone()))
            }
            _ => None,
        })
    }

    /// The declarations of the parameters that a device struct keeps, without defaults.
    pub(crate) fn kept_declarations(&self, dyn_tag: &TokenStream) -> TokenStream {
        let declarations = self.kept().map(|param| match param {
            GenericParam::Type(it) => {
                let ident = &it.ident;
                let bounds: Vec<_> =
                    it.bounds.iter().filter(|it| !self.mentions_tag(it)).map(|it| self.erase(it, dyn_tag)).collect();
                quote!(#ident: #(#bounds)+*)
            }
            GenericParam::Const(it) => {
                let (ident, ty) = (&it.ident, &it.ty);
                quote!(const #ident: #ty)
            }
            GenericParam::Lifetime(it) => it.to_token_stream(),
        });
        quote!(#(#declarations,)*)
    }

    /// The parameters that a device struct keeps, as arguments.
    pub(crate) fn kept_arguments(&self) -> TokenStream {
        let idents = self.kept().map(|param| match param {
            GenericParam::Type(it) => it.ident.to_token_stream(),
            GenericParam::Const(it) => it.ident.to_token_stream(),
            GenericParam::Lifetime(it) => it.lifetime.to_token_stream(),
        });
        quote!(#(#idents,)*)
    }

    /// Types and constants in the order of their declaration, which is also that of the device struct.
    fn kept(&self) -> impl Iterator<Item = &'a GenericParam> + '_ {
        self.generics.params.iter().filter(|param| match param {
            GenericParam::Type(it) => !self.tags.contains(&&it.ident),
            GenericParam::Const(_) => true,
            GenericParam::Lifetime(_) => false,
        })
    }

    /// The predicates of the `where` clause that speak of kept parameters only.
    pub(crate) fn kept_predicates(&self, dyn_tag: &TokenStream) -> Vec<TokenStream> {
        let Some(clause) = &self.generics.where_clause else { return Vec::new() };
        clause
            .predicates
            .iter()
            .filter(|it| matches!(it, WherePredicate::Type(_)) && self.mentions_kept(it) && !self.mentions_tag(it))
            .map(|it| self.erase(it, dyn_tag))
            .collect()
    }
}

/// Whether the parameter has a bound whose last segment is `name`, at its declaration or in the `where` clause.
fn has_bound(generics: &Generics, param: &TypeParam, name: &str) -> bool {
    let named = |bounds: &Punctuated<TypeParamBound, Token![+]>| {
        bounds.iter().any(|bound| {
            let TypeParamBound::Trait(bound) = bound else { return false };
            bound.path.segments.last().is_some_and(|it| it.ident == name)
        })
    };
    named(&param.bounds)
        || generics.where_clause.iter().flat_map(|it| &it.predicates).any(|predicate| {
            let WherePredicate::Type(predicate) = predicate else { return false };
            let Type::Path(bounded) = &predicate.bounded_ty else { return false };
            bounded.path.is_ident(&param.ident) && named(&predicate.bounds)
        })
}

/// What stands before a token.
#[derive(Clone, Copy, Default)]
struct Before {
    colons: u8,
    apostrophe: bool,
}

impl Before {
    /// Behind `::`, a name is not that of a parameter.
    fn is_path(self) -> bool {
        self.colons >= 2
    }

    fn after(self, token: &TokenTree) -> Before {
        match token {
            TokenTree::Punct(it) if it.as_char() == ':' => Before { colons: self.colons + 1, apostrophe: false },
            TokenTree::Punct(it) => {
                Before { colons: 0, apostrophe: it.as_char() == '\'' && it.spacing() == Spacing::Joint }
            }
            _ => Before::default(),
        }
    }
}

/// Replaces what `replace` finds: it gets the tokens from a place on and says how many of them give way to what.
fn map(tokens: TokenStream, replace: &dyn Fn(Before, &[TokenTree]) -> Option<(usize, TokenStream)>) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = TokenStream::new();
    let mut before = Before::default();
    let mut at = 0;
    while at < tokens.len() {
        if let Some((count, new)) = replace(before, &tokens[at..]) {
            out.extend(new);
            before = Before::default();
            at += count;
            continue;
        }
        before = before.after(&tokens[at]);
        out.extend([match &tokens[at] {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), map(group.stream(), replace));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            token => token.clone(),
        }]);
        at += 1;
    }
    out
}

/// The tokens with the type's own name for `Self`, for use outside of its implementations.
pub(crate) fn without_self(tokens: &impl ToTokens, name: &Ident) -> TokenStream {
    map(tokens.to_token_stream(), &|_, tokens| match tokens {
        [TokenTree::Ident(it), ..] if it == "Self" => Some((1, name.to_token_stream())),
        _ => None,
    })
}

/// Whether the tokens use a type or constant parameter.
pub(crate) fn mentions(tokens: TokenStream, ident: &Ident) -> bool {
    any(tokens, &|before, token| {
        !before.is_path() && !before.apostrophe && matches!(token, TokenTree::Ident(it) if it == ident)
    })
}

fn mentions_lifetime(tokens: TokenStream, lifetime: &Lifetime) -> bool {
    any(tokens, &|before, token| before.apostrophe && matches!(token, TokenTree::Ident(it) if *it == lifetime.ident))
}

fn any(tokens: TokenStream, found: &dyn Fn(Before, &TokenTree) -> bool) -> bool {
    let mut before = Before::default();
    tokens.into_iter().any(|token| {
        let hit = match &token {
            TokenTree::Group(group) => any(group.stream(), found),
            token => found(before, token),
        };
        before = before.after(&token);
        hit
    })
}

/// What an array is made of in the end.
pub(crate) fn leaf(ty: &Type) -> &Type {
    match ty {
        Type::Array(array) => leaf(&array.elem),
        Type::Paren(inner) => leaf(&inner.elem),
        Type::Group(inner) => leaf(&inner.elem),
        _ => ty,
    }
}
