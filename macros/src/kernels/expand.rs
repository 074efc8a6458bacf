//! The struct and its methods.
//!
//! Local names have the macro's own hygiene (`mixed_site`), so parameters may have any name. Names of items and type
//! parameters are not hygienic: these get names that the declaration does not mention.

use proc_macro2::{Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Type, Visibility};

use super::ast::{Block, Coverage, Kernel, Kind, Launch, Param, Set, SpanPath, names};
use super::device::{File, Image};
use super::text;

/// `quote!` with the macro's own hygiene.
macro_rules! own {
    ($($tokens:tt)*) => { quote_spanned!(Span::mixed_site()=> $($tokens)*) };
}

pub(crate) fn set(set: &Set, block: &Block, kernels: &[Kernel], image: Option<&Image>) -> TokenStream {
    let Set { vis, ident, krate, .. } = set;
    let k = quote!(#krate::__private);
    let (shared, own): (Vec<&Attribute>, Vec<&Attribute>) = block.attrs.iter().partition(|attr| is_shared(attr));
    let doc = (!has_doc(&block.attrs)).then(|| {
        let list: Vec<_> =
            kernels.iter().map(|kernel| format!("[`{name}`](Self::{name})", name = kernel.name())).collect();
        let doc = if list.is_empty() {
            "A set of kernels.".to_owned()
        } else {
            format!("A set of kernels: {}.", list.join(", "))
        };
        quote!(#[doc = #doc])
    });
    let load = "Makes the kernels ready for contexts of `device`.\n\nNo kernel needs a body for every device: a call of one that has none for `device` is `Error::NoBody`.";
    let mut taken = block.names.clone();
    taken.push(ident.unraw().to_string());
    taken.extend(names(krate.to_token_stream()));
    let methods: Vec<_> = kernels.iter().map(|kernel| Method::new(&k, kernel, &taken)).collect();
    let entries = image.map(|image| methods.iter().filter_map(|method| method.entry(&image.names)).collect::<Vec<_>>());
    let load_image = entries.map(|entries| {
        own! {
            /// Makes the kernels ready for contexts of `device` from an image that comes when the program runs: PTX
            /// text, a cubin or a fatbin.
            ///
            /// Each call loads it anew, and it stays loaded for good: call this once, and clone the set. Every kernel
            /// that has device code must be there, with parameters as large as declared, as far as the driver knows
            /// them (from CUDA 12.4 on). The CPU device runs the Rust bodies, and does not look at the image.
            ///
            /// # Safety
            /// The image is whole, and its kernels do what the declarations of this set promise.
            ///
            /// # Errors
            /// `Error::NoFunction`, `Error::WrongParameter`, and `Error::Driver` for what is no image for this GPU.
            #[allow(clippy::undocumented_unsafe_blocks)]
            pub unsafe fn load_image(
                device: &#k::Device,
                image: &[::core::primitive::u8],
            ) -> ::core::result::Result<Self, #k::Error> {
                // SAFETY: what the caller of this function promises.
                let functions = unsafe { #k::Functions::load_image(device, image, &[#(#entries),*]) }?;
                ::core::result::Result::Ok(Self { device: ::core::clone::Clone::clone(device), functions })
            }
        }
    });
    let known = kernels.iter().map(|kernel| {
        let name = kernel.name();
        let at = kernel.device.as_ref().map(|device| device.at);
        let at = at.map_or(quote!(None), |at| quote!(Some(#at)));
        own!((#name, ::core::option::Option::#at))
    });
    let file = image.and_then(|image| image.file.as_ref());
    let path = file.map(|file| file.path.as_str());
    let layouts = methods.iter().filter_map(|method| {
        let layout = method.layout(path?)?;
        Some(quote!(#(#shared)* #layout))
    });
    let layouts: Vec<_> = layouts.collect();
    let methods = methods.iter().map(|method| method.tokens(path));
    let (ptx, names) = match (file, image) {
        (Some(File { text, .. }), Some(Image { names, .. })) => {
            (own!(::core::option::Option::Some({ static PTX: &::core::primitive::str = #text; PTX })), names.as_slice())
        }
        _ => (quote!(::core::option::Option::None), &[][..]),
    };
    own! {
        #(#shared)*
        #(#own)*
        #doc
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #[allow(dead_code)]
        #vis struct #ident {
            device: #k::Device,
            functions: #k::Functions,
        }

        #(#layouts)*

        #(#shared)*
        #[allow(dead_code, unreachable_pub)]
        impl #ident {
            #[doc = #load]
            pub fn load(device: &#k::Device) -> ::core::result::Result<Self, #k::Error> {
                let functions = #k::Functions::load(device, #ptx, &[#(#names),*])?;
                ::core::result::Result::Ok(Self { device: ::core::clone::Clone::clone(device), functions })
            }

            #load_image

            /// Blocks of kernel `kernel` that run at the same time on the whole GPU, for blocks of `block` threads with
            /// `shared` bytes of dynamic shared memory: the largest grid of a cooperative launch. `None` on the CPU
            /// device.
            ///
            /// # Errors
            /// `Error::NoFunction` if no kernel of this set has the name, `Error::NoBody`, `Error::Geometry`.
            pub fn max_blocks(
                &self,
                kernel: &'static ::core::primitive::str,
                block: impl ::core::convert::Into<#k::Dim>,
                shared: ::core::primitive::u32,
            ) -> ::core::result::Result<::core::option::Option<::core::primitive::u32>, #k::Error> {
                let at = #k::find(&[#(#known),*], kernel)?;
                self.functions.max_blocks(&self.device, kernel, at, &#k::Launch::new(1, block).shared(shared))
            }

            /// The device that the kernels were loaded for.
            pub fn device(&self) -> &#k::Device {
                &self.device
            }

            #(#methods)*
        }
    }
}

fn has_doc(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| attr.path().is_ident("doc"))
}

/// Whether struct and methods both need the attribute.
fn is_shared(attr: &Attribute) -> bool {
    ["cfg", "allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attr.path().is_ident(name))
}

/// A name that the declaration does not mention.
fn fresh(base: &str, taken: &[String]) -> Ident {
    let mut name = base.to_owned();
    while taken.contains(&name) {
        name.push('_');
    }
    Ident::new(&name, Span::call_site())
}

struct Method<'a> {
    /// `::escrow::__private`.
    k: &'a TokenStream,
    kernel: &'a Kernel,
    /// The type parameter of each parameter that has one.
    types: Vec<Option<Ident>>,
    /// The launching stream's tag.
    tag: Ident,
    /// The type that implements `CpuBody`.
    body: Ident,
}

impl<'a> Method<'a> {
    fn new(k: &'a TokenStream, kernel: &'a Kernel, taken: &[String]) -> Method<'a> {
        let types = kernel.params.iter().enumerate().map(|(at, param)| match param.kind {
            Kind::Read(_) | Kind::Write(_) | Kind::Out(..) => Some(fresh(&format!("A{at}"), taken)),
            Kind::Len(..) | Kind::Value(_) => None,
        });
        let tag = kernel.tag.clone().unwrap_or_else(|| fresh("S", taken));
        Method { k, kernel, types: types.collect(), tag, body: fresh("Body", taken) }
    }

    fn params(&self) -> impl Iterator<Item = (&'a Param, Option<&Ident>)> {
        self.kernel.params.iter().zip(self.types.iter().map(Option::as_ref))
    }

    /// Parameters that come back.
    fn outs(&self) -> Vec<(&'a Ident, &Ident, Coverage)> {
        let out = |(param, ty): (&'a Param, _)| match (&param.kind, ty) {
            (Kind::Out(_, coverage), Some(ty)) => Some((&param.ident, ty, *coverage)),
            _ => None,
        };
        self.params().filter_map(out).collect()
    }

    fn tokens(&self, path: Option<&str>) -> TokenStream {
        let Method { k, kernel, tag, .. } = self;
        let docs = self.docs();
        let attrs = &kernel.attrs;
        let vis = match &kernel.vis {
            Visibility::Inherited => quote!(pub),
            vis => vis.to_token_stream(),
        };
        let unsafety = kernel.is_unsafe.then(|| quote!(unsafe));
        let ident = &kernel.ident;
        let (lifetimes, params, bounds) = self.signature();
        let types = self.params().filter_map(|(param, ty)| {
            let ty = ty?;
            // Not `Sized`, or the message about a slice of host memory would end in advice to relax the kernel's bounds.
            let bound = match param.kind {
                Kind::Read(_) => own!(?::core::marker::Sized + #k::DeviceRead),
                Kind::Write(_) => own!(?::core::marker::Sized + #k::DeviceWrite),
                _ => own!(#k::KernelOut),
            };
            Some(at(param.ident.span(), own!(#ty: #bound)))
        });
        let launch = self.takes_launch().then(|| own!(launch: impl ::core::convert::Into<#k::Launch>,));
        let (ok, err, statements) = self.block();
        // The constant of its own knows one tag; this one, each tag that the kernel is launched with.
        let checks = match path {
            Some(path) if kernel.tag.is_some() => self.checks(path).map(|checks| own!(const { #checks })),
            _ => None,
        };
        own! {
            #(#attrs)*
            #docs
            #[allow(
                unused_variables, unused_unsafe, clippy::too_many_arguments, clippy::undocumented_unsafe_blocks,
                clippy::multiple_unsafe_ops_per_block, clippy::needless_pass_by_value
            )]
            #vis #unsafety fn #ident<#(#lifetimes,)* #tag: #k::StreamTag, #(#types),*>(
                &self,
                ctx: &#k::DeviceContext<#tag>,
                #launch
                #(#params,)*
            ) -> ::core::result::Result<#ok, #err>
            where
                #(#bounds,)*
            {
                #checks
                #statements
            }
        }
    }

    /// Whether a bound says on which streams a parameter of this type can be passed. A type with a lifetime holds spans,
    /// and where the kernel does not name the tag they have one of their own.
    fn is_bounded(&self, ty: &Type) -> bool {
        self.kernel.tag.is_none() && mentions_lifetime(ty)
    }

    fn takes_launch(&self) -> bool {
        matches!(self.kernel.launch, Launch::Bounded { .. } | Launch::Chosen)
    }

    /// What the user's documentation does not say.
    fn docs(&self) -> TokenStream {
        let kernel = self.kernel;
        let said: Vec<String> =
            kernel.attrs.iter().filter(|a| a.path().is_ident("doc")).map(|a| a.to_token_stream().to_string()).collect();
        let says = |heading: &str| said.iter().any(|doc| doc.contains(heading));
        let mut docs = Vec::new();
        if said.is_empty() {
            docs.push(format!("Launches the kernel `{}` on the stream of `ctx`. Does not block.", kernel.name()));
        }
        if !says("# Errors") {
            let mut errors = "# Errors\n`Error::WrongDevice`, `Error::WrongStream`".to_owned();
            if !kernel.requires.is_empty() {
                let texts: Vec<_> = kernel.requires.iter().map(|it| format!("`{}`", it.text)).collect();
                errors += ", `Error::Requires` without ";
                errors += &texts.join(" and ");
            }
            if kernel.params.iter().any(|param| matches!(param.kind, Kind::Len(..))) {
                errors.push_str(", `Error::LengthOf`");
            }
            errors.push_str(", `Error::Geometry`, `Error::NoBody`, `Error::FromWorker`. Nothing was enqueued then");
            errors.push_str(if self.outs().is_empty() {
                "."
            } else {
                ", and what went in by value comes back in the `Fault`."
            });
            docs.push(errors);
        }
        if kernel.is_unsafe && !says("# Safety") {
            docs.push("# Safety\nFor this launch and these arguments all accesses of the kernel stay inside of the memory that it is passed, and no two of its threads race.".to_owned());
        }
        let docs = docs.iter().map(|doc| format!("\n\n{doc}"));
        quote!(#(#[doc = #docs])*)
    }

    /// Lifetimes, parameters and bounds of the method.
    fn signature(&self) -> (Vec<TokenStream>, Vec<TokenStream>, Vec<TokenStream>) {
        let Method { k, tag, .. } = self;
        let (mut lifetimes, mut params, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for (param, ty) in self.params() {
            let ident = &param.ident;
            match (&param.kind, ty) {
                (Kind::Value(value), _) if self.is_bounded(value) => {
                    // Which streams it can be passed on is its own affair: the bound leaves that to the call.
                    let value = with_lifetimes(value.to_token_stream(), &mut |_| {
                        let name = format!("p{}", lifetimes.len());
                        let lifetime = lifetime(&name, Span::mixed_site());
                        lifetimes.push(lifetime.clone());
                        lifetime
                    });
                    bounds.push(quote!(#value: #k::Visit<#tag>));
                    params.push(quote!(#ident: #value));
                }
                (Kind::Value(value), _) => params.push(quote!(#ident: #value)),
                (Kind::Read(elem) | Kind::Write(elem) | Kind::Out(elem, _), Some(ty)) => {
                    let (passed, operand) = match param.kind {
                        Kind::Read(_) => (quote!(&#ty), quote!(DeviceRead)),
                        Kind::Write(_) => (quote!(&mut #ty), quote!(DeviceWrite)),
                        _ => (quote!(#ty), quote!(KernelOut)),
                    };
                    params.push(quote!(#ident: #passed));
                    let span = ident.span();
                    bounds.push(at(span, own!(<#ty as #k::#operand>::Elem: #k::SameElem<#elem>)));
                    bounds.push(at(span, own!(<#ty as #k::#operand>::Tag: #k::SameStream<#tag>)));
                }
                (Kind::Len(..), _) | (_, None) => {}
            }
        }
        (lifetimes, params, bounds)
    }

    /// Type of success, type of failure, and the method's block.
    fn block(&self) -> (TokenStream, TokenStream, TokenStream) {
        let k = self.k;
        let (body, steps) = (self.cpu_body(), self.steps());
        let outs = self.outs();
        if outs.is_empty() {
            return (quote!(()), quote!(#k::Error), own!(#body #steps));
        }
        let idents: Vec<_> = outs.iter().map(|(ident, ..)| ident).collect();
        let types: Vec<_> = outs.iter().map(|(_, ty, _)| ty).collect();
        let (written, given, values, results) = if let ([ident], [ty]) = (&idents[..], &types[..]) {
            (quote!(<#ty as #k::KernelOut>::Written), quote!(#ty), quote!(#ident), own!(#k::KernelOut::written(#ident)))
        } else {
            (
                quote!((#(<#types as #k::KernelOut>::Written,)*)),
                quote!((#(#types,)*)),
                quote!((#(#idents,)*)),
                own!((#(#k::KernelOut::written(#idents),)*)),
            )
        };
        let statements = own! {
            #body
            let launch_it = || -> ::core::result::Result<(), #k::Error> { #steps };
            match launch_it() {
                // SAFETY: the launch writes all elements, as its declaration says and the geometry was checked for.
                ::core::result::Result::Ok(()) => ::core::result::Result::Ok(unsafe { #results }),
                ::core::result::Result::Err(error) => ::core::result::Result::Err(#k::Fault { error, value: #values }),
            }
        };
        (written, quote!(#k::Fault<#given>), statements)
    }

    /// The checks and the enqueue, as an expression of type `Result<(), Error>`.
    fn steps(&self) -> TokenStream {
        let Method { k, kernel, .. } = self;
        let call = Ident::new("call", Span::mixed_site());
        let name = kernel.name();
        let operands = kernel.params.iter().map(|param| {
            let ident = &param.ident;
            match &param.kind {
                Kind::Read(elem) => own!(let #ident = #call.read::<#elem, _>(#ident)?;),
                Kind::Write(elem) => own!(let #ident = #call.write::<#elem, _>(#ident)?;),
                Kind::Out(elem, _) => own!(let #ident = #call.out::<#elem, _>(&#ident)?;),
                Kind::Value(ty) => {
                    let span = ty.span().resolved_at(Span::mixed_site());
                    let pass = if self.is_bounded(ty) { quote!(pass_on) } else { quote!(pass) };
                    quote_spanned!(span=> #call.#pass(&#ident)?;)
                }
                Kind::Len(..) => TokenStream::new(),
            }
        });
        let conditions = kernel.requires.iter().map(|condition| {
            let (expr, text) = (&condition.expr, &condition.text);
            let shown = text::shown(expr.to_token_stream(), &kernel.params);
            let names = shown.iter().map(|shown| text::of(shown, None));
            own! {
                if !#k::holds(|| -> ::core::primitive::bool { #expr }) {
                    return ::core::result::Result::Err(#call.unmet(#text, &[#((#names, &#shown)),*]));
                }
            }
        });
        let lengths = kernel.params.iter().filter_map(|param| {
            let Kind::Len(ty, path) = &param.kind else { return None };
            let (ident, name) = (&param.ident, param.ident.unraw().to_string());
            let len = self.len(path);
            let span = ty.span().resolved_at(Span::mixed_site());
            Some(quote_spanned!(span=> let #ident = #call.len_of::<#ty>(#name, #len)?;))
        });
        let geometry = self.geometry(&call);
        let outs = self.outs();
        let coverage = outs.iter().map(|(ident, _, coverage)| {
            let name = ident.unraw().to_string();
            let check = match coverage {
                Coverage::Each => quote!(out_each),
                Coverage::All => quote!(out_all),
            };
            own!(#call.#check(&geometry, #name, #ident.len())?;)
        });
        let enqueue = self.enqueue(&call);
        own! {
            let mut #call = #k::Call::new(&self.device, ctx, #name)?;
            #(#operands)*
            #(#conditions)*
            #call.lengths()?;
            #(#lengths)*
            let geometry = #geometry?;
            #(#coverage)*
            #enqueue
        }
    }

    fn len(&self, path: &SpanPath) -> TokenStream {
        let k = self.k;
        let span = path.root.span().resolved_at(Span::mixed_site());
        let passed = self.kernel.params.iter().find(|param| param.ident == path.root).map(|param| &param.kind);
        let fields = &path.fields;
        match passed {
            // `offset_of!` sees fields only: a `Deref` on the way could answer differently each time.
            Some(Kind::Value(ty)) if !fields.is_empty() => quote_spanned! {span=>
                { let _ = ::core::mem::offset_of!(#ty, #(#fields).*); #k::span_len(&#path) }
            },
            _ => quote_spanned!(span=> #k::span_len(&#path)),
        }
    }

    fn geometry(&self, call: &Ident) -> TokenStream {
        let k = self.k;
        match &self.kernel.launch {
            Launch::Cover(path) => {
                let len = self.len(path);
                own!(#call.cover(#len))
            }
            Launch::Computed { grid, block, shared } => {
                let (grid, block, shared) = (self.dim(grid), self.dim(block), self.number(shared.as_ref()));
                own!(#call.computed(#grid, #block, #shared))
            }
            Launch::Bounded { grid, block, shared } => {
                let (grid, block, shared) = (self.dim(grid), self.dim(block), self.number(shared.as_ref()));
                own!(#call.bounded(#k::launch(launch), #grid, #block, #shared))
            }
            Launch::Chosen => own!(#call.chosen(launch)),
        }
    }

    fn dim(&self, sizes: &[Expr]) -> TokenStream {
        let sizes = sizes.iter().map(|size| self.number(Some(size))).chain([quote!(1), quote!(1)]).take(3);
        quote!([#(#sizes),*])
    }

    fn number(&self, value: Option<&Expr>) -> TokenStream {
        let k = self.k;
        match value {
            None => quote!(0),
            Some(value) => {
                let function = at(value.span(), own!(#k::number));
                own!(#function(|| #value))
            }
        }
    }

    fn enqueue(&self, call: &Ident) -> TokenStream {
        let on_cpu = self.enqueue_on_cpu(call);
        match self.enqueue_on_gpu(call) {
            Some(on_gpu) => own!(if #call.is_on_gpu() { #on_gpu } else { #on_cpu }),
            None => on_cpu,
        }
    }

    fn enqueue_on_gpu(&self, call: &Ident) -> Option<TokenStream> {
        let Method { k, kernel, .. } = self;
        let at = kernel.device.as_ref()?.at;
        let values = kernel.params.iter().map(|param| {
            let ident = &param.ident;
            match &param.kind {
                Kind::Read(_) | Kind::Write(_) | Kind::Out(..) => own!(let #ident = #ident.to_device();),
                Kind::Value(ty) => {
                    let span = ty.span().resolved_at(Span::mixed_site());
                    quote_spanned!(span=> let #ident = #k::DeviceLayout::to_device(&#ident);)
                }
                Kind::Len(..) => TokenStream::new(),
            }
        });
        let idents = kernel.params.iter().map(|param| &param.ident);
        let count = kernel.params.len();
        Some(own! {
            // SAFETY: the values are those of arguments that this call admitted or visited, and have the sizes of the
            // entry's parameters, which was checked when this was compiled or promised when it was loaded. That the kernel stays inside of them and
            // does not race is what the declaration, or the caller of an `unsafe fn`, promises.
            unsafe {
                #(#values)*
                let mut params: [*mut ::core::ffi::c_void; #count] = [#(#k::param(&#idents)),*];
                #call.enqueue_on_gpu(&geometry, &self.functions, #at, &mut params)
            }
        })
    }

    fn enqueue_on_cpu(&self, call: &Ident) -> TokenStream {
        let Method { k, kernel, .. } = self;
        if kernel.cpu.is_none() {
            return own!(#call.no_body());
        }
        let body = self.body_type();
        let args = kernel.params.iter().map(|param| {
            let ident = &param.ident;
            match &param.kind {
                Kind::Read(_) => own!(#ident.to_read()),
                Kind::Write(_) | Kind::Out(..) => own!(#ident.to_write()),
                Kind::Value(ty) => {
                    let span = ty.span().resolved_at(Span::mixed_site());
                    quote_spanned!(span=> #k::DeviceLayout::to_body(&#ident))
                }
                Kind::Len(..) => quote!(#ident),
            }
        });
        own! {
            // SAFETY: the arguments are those that this call admitted or visited. That the body stays inside of them
            // and does not race is what the declaration, or the caller of an `unsafe fn`, promises.
            unsafe { #call.enqueue::<#body>(&geometry, (#(#args,)*)) }
        }
    }

    /// A constant that compares layouts of parameters with the PTX file, wherever the kernel is used or not.
    fn layout(&self, path: &str) -> Option<TokenStream> {
        let Method { k, kernel, .. } = self;
        let checks = self.checks(path)?;
        let attrs = kernel.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let tag = kernel.tag.as_ref().map(|tag| quote!(#[allow(dead_code, non_camel_case_types)] type #tag = #k::Dyn;));
        Some(quote!(#(#attrs)* const _: () = { #tag #checks };))
    }

    /// Statements of a constant; none where the syntax alone has decided.
    fn checks(&self, path: &str) -> Option<TokenStream> {
        let Method { k, kernel, .. } = self;
        let name = kernel.name();
        let pairs = kernel.params.iter().zip(&kernel.device.as_ref()?.params);
        let checks = pairs.filter_map(|(param, there)| {
            let (name_here, text) = (param.ident.unraw().to_string(), &there.text);
            let ty = match &param.kind {
                Kind::Value(ty) | Kind::Len(ty, _) => ty,
                Kind::Read(elem) | Kind::Write(elem) | Kind::Out(elem, _) => {
                    let align = usize::try_from(there.pointee_align).ok().filter(|&align| align > 1)?;
                    return Some(at(elem.span(), own! {
                        #k::check_pointee::<#elem>(#name, #name_here, #path, #text, #align);
                    }));
                }
            };
            let erased = with_lifetimes(ty.to_token_stream(), &mut |span| lifetime("static", span));
            let (size, align) = (usize::try_from(there.size).ok()?, usize::try_from(there.align).ok()?);
            // At the type, for the message.
            Some(at(ty.span(), own! {
                #k::check_param::<<#erased as #k::DeviceLayout>::DeviceType>(#name, #name_here, #path, #text, #size, #align);
            }))
        });
        let checks: TokenStream = checks.collect();
        (!checks.is_empty()).then_some(checks)
    }

    /// What an image that comes when the program runs must have for the kernel.
    fn entry(&self, names: &[String]) -> Option<TokenStream> {
        let Method { k, kernel, .. } = self;
        let at = kernel.device.as_ref()?.at;
        let name = names.get(at)?;
        let sizes = kernel.params.iter().map(|param| match &param.kind {
            Kind::Read(_) | Kind::Write(_) | Kind::Out(..) => own!(8),
            Kind::Value(ty) | Kind::Len(ty, _) => {
                let erased = with_lifetimes(ty.to_token_stream(), &mut |span| lifetime("static", span));
                let span = ty.span().resolved_at(Span::mixed_site());
                quote_spanned!(span=> ::core::mem::size_of::<<#erased as #k::DeviceLayout>::DeviceType>())
            }
        });
        let attrs = kernel.attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        // A size is the same on each stream.
        let tag = kernel.tag.as_ref().map(|tag| quote!(#[allow(dead_code, non_camel_case_types)] type #tag = #k::Dyn;));
        Some(own! {
            #(#attrs)*
            #k::Entry {
                at: #at,
                name: #name,
                sizes: { #tag const SIZES: &'static [::core::primitive::usize] = &[#(#sizes),*]; SIZES },
            }
        })
    }

    fn body_type(&self) -> TokenStream {
        let (body, tag) = (&self.body, &self.kernel.tag);
        if let Some(tag) = tag { quote!(#body<#tag>) } else { quote!(#body) }
    }

    /// The type that calls the Rust body.
    fn cpu_body(&self) -> Option<TokenStream> {
        let Method { k, kernel, body: ident, .. } = self;
        let cpu = kernel.cpu.as_ref()?;
        let this = self.body_type();
        let (definition, generics) = match &kernel.tag {
            Some(tag) => {
                (quote!(struct #ident<#tag>(::core::marker::PhantomData<#tag>);), Some(quote!(<#tag: #k::StreamTag>)))
            }
            None => (quote!(struct #ident;), None),
        };
        let types = kernel.params.iter().map(|param| match &param.kind {
            Kind::Read(elem) => quote!(#k::KernelSpan<'k, #elem>),
            Kind::Write(elem) | Kind::Out(elem, _) => quote!(#k::KernelSpanMut<'k, #elem>),
            Kind::Len(ty, _) => ty.to_token_stream(),
            Kind::Value(ty) => {
                let erased = with_lifetimes(ty.to_token_stream(), &mut |span| lifetime("static", span));
                let span = ty.span().resolved_at(Span::mixed_site());
                quote_spanned!(span=> <#erased as #k::DeviceLayout>::Body<'k>)
            }
        });
        // Spans of the declaration, so that a mismatch with the body points there.
        let names: Vec<Ident> = (0..kernel.params.len())
            .map(|at| Ident::new(&format!("arg{at}"), kernel.params[at].ident.span().resolved_at(Span::mixed_site())))
            .collect();
        let args = kernel.params.iter().zip(&names).map(|(param, name)| {
            let span = name.span();
            match param.kind {
                Kind::Read(_) => quote_spanned!(span=> #name.as_slice()),
                Kind::Write(_) | Kind::Out(..) if cpu.single => quote_spanned!(span=> #name.as_mut_slice()),
                _ => quote!(#name),
            }
        });
        let share = Ident::new("share", Span::mixed_site());
        let first = (!cpu.single).then(|| quote!(#share,));
        let (path, single) = (&cpu.body, cpu.single);
        let span = path.span().resolved_at(Span::mixed_site());
        let call = quote_spanned!(span=> let () = #path(#first #(#args),*););
        Some(own! {
            #[allow(dead_code)]
            #definition
            impl #generics #k::CpuBody for #this {
                type Args<'k> = (#(#types,)*);
                const SINGLE: ::core::primitive::bool = #single;
                #[inline]
                unsafe fn run(#share: &mut #k::Share<'_>, (#(#names,)*): Self::Args<'_>) {
                    // SAFETY: a `single` body is called once, so its spans are its own. The declaration, or the caller of
                    // an `unsafe fn`, promises what a body that is an `unsafe fn` asks for.
                    unsafe { #call }
                }
            }
        })
    }
}

/// `tokens` at another place, so that the compiler shows that place. Their hygiene stays.
fn at(span: Span, tokens: TokenStream) -> TokenStream {
    let place = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            let mut moved = Group::new(group.delimiter(), at(span, group.stream()));
            moved.set_span(group.span().located_at(span));
            return TokenTree::Group(moved);
        }
        token.set_span(token.span().located_at(span));
        token
    };
    tokens.into_iter().map(place).collect()
}

fn lifetime(name: &str, span: Span) -> TokenStream {
    let mut quote = Punct::new('\'', Spacing::Joint);
    quote.set_span(span);
    [TokenTree::Punct(quote), TokenTree::Ident(Ident::new(name, span))].into_iter().collect()
}

fn mentions_lifetime(ty: &Type) -> bool {
    let mut found = false;
    with_lifetimes(ty.to_token_stream(), &mut |span| {
        found = true;
        lifetime("_", span)
    });
    found
}

/// `tokens` with another lifetime for each `'_`.
fn with_lifetimes(tokens: TokenStream, new: &mut impl FnMut(Span) -> TokenStream) -> TokenStream {
    let mut result = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), with_lifetimes(group.stream(), new));
                inner.set_span(group.span());
                result.extend([TokenTree::Group(inner)]);
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => match tokens.peek() {
                Some(TokenTree::Ident(ident)) if *ident == "_" => {
                    result.extend(new(ident.span()));
                    tokens.next();
                }
                _ => result.extend([TokenTree::Punct(punct)]),
            },
            token => result.extend([token]),
        }
    }
    result
}
