//! Conditions as texts, and the values that a message shows with them.

use proc_macro2::{TokenStream, TokenTree};
use syn::Type;
use syn::ext::IdentExt;

use super::ast::{Kind, Param};

/// `tokens` as the user wrote them. `inside`: the text of the group around them, if it holds nothing else.
pub(crate) fn of(tokens: &TokenStream, inside: Option<String>) -> String {
    let source = inside.and_then(|text| {
        let text = text.strip_prefix('(')?.strip_suffix(')')?.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(text.strip_suffix(',').map(str::to_owned).unwrap_or(text))
    });
    source.unwrap_or_else(|| {
        let mut text = tokens.to_string();
        for (from, to) in [(" . ", "."), (" ()", "()"), (" (", "("), ("( ", "("), (" )", ")"), (" ,", ",")] {
            text = text.replace(from, to);
        }
        text
    })
}

/// Expressions in `tokens` whose values explain why a condition does not hold: lengths of spans, numbers.
pub(crate) fn shown(tokens: TokenStream, params: &[Param]) -> Vec<TokenStream> {
    let mut found = Vec::new();
    collect(tokens, params, &mut found);
    let mut texts = Vec::new();
    found.retain(|expr| {
        let text = expr.to_string();
        let new = !texts.contains(&text);
        texts.push(text);
        new
    });
    found
}

fn collect(tokens: TokenStream, params: &[Param], found: &mut Vec<TokenStream>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_dot = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == '.');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), params, found),
            // A field or method of something else is not a parameter.
            TokenTree::Ident(ident) if at == 0 || !is_dot(tokens.get(at - 1)) => {
                let Some(param) = params.iter().find(|param| param.ident == *ident) else { continue };
                match &param.kind {
                    Kind::Read(_) | Kind::Write(_) | Kind::Out(..) => found.push(quote::quote!(#ident.len())),
                    Kind::Value(ty) if is_number(ty) => found.push(quote::quote!(#ident)),
                    Kind::Value(_) => found.extend(length(&tokens[at..])),
                    Kind::Len(..) => {}
                }
            }
            _ => {}
        }
    }
}

/// `p.src.len()` at the start of `tokens`.
fn length(tokens: &[TokenTree]) -> Option<TokenStream> {
    let mut at = 0;
    loop {
        match tokens.get(at + 1)? {
            TokenTree::Punct(punct) if punct.as_char() == '.' => {}
            _ => return None,
        }
        at += 2;
        match tokens.get(at)? {
            TokenTree::Ident(ident) if *ident == "len" => match tokens.get(at + 1) {
                Some(TokenTree::Group(group)) if group.stream().is_empty() => {
                    return Some(tokens[..at + 2].iter().cloned().collect());
                }
                _ => {}
            },
            TokenTree::Ident(_) | TokenTree::Literal(_) => {}
            _ => return None,
        }
    }
}

/// Whether the type is a number of the language, which can be shown.
pub(crate) fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 14] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
    let Type::Path(path) = ty else { return false };
    path.qself.is_none() && path.path.get_ident().is_some_and(|ident| NUMBERS.iter().any(|name| ident.unraw() == *name))
}
