//! `#[kernels(pub struct Name)] unsafe extern "kernel" { .. }`.

mod ast;
mod attr;
mod device;
mod expand;
mod ptx;
mod text;
mod valid;

use proc_macro2::TokenStream;

use crate::valid::Faults;
use ast::{Block, Set};

/// Never panics. Kernels without a fault are there also if others have one, so that their callers add no errors.
pub(crate) fn expand(args: TokenStream, input: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let set = Set::read(args, &mut faults);
    let block = Block::read(input, &mut faults);
    let mut kernels =
        block.items.iter().filter_map(|item| valid::kernel(item.clone(), &mut faults)).collect::<Vec<_>>();
    valid::block(&block, &kernels, &mut faults);
    let image = set.as_ref().and_then(|set| device::check(set, &mut kernels, &mut faults));
    let expansion = set.map(|set| expand::set(&set, &block, &kernels, image.as_ref()));
    let errors = faults.check().err().map(syn::Error::into_compile_error);
    quote::quote!(#errors #expansion)
}

#[cfg(test)]
mod tests;
