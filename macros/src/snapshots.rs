//! Expansions, compared with the files in `snapshots/`. `ESCROW_BLESS=1 cargo test -p escrow-macros` writes them anew.

use std::path::Path;
use std::{env, fs};

use proc_macro2::TokenStream;
use syn::DeriveInput;

fn messages(faults: syn::Error) -> String {
    let lines: Vec<_> = faults.into_iter().map(|fault| format!("error: {fault}")).collect();
    lines.join("\n") + "\n"
}

fn compare(name: &str, expand: fn(&DeriveInput) -> syn::Result<TokenStream>, input: &str) {
    let input: DeriveInput = syn::parse_str(input).unwrap();
    compare_text(name, &expand(&input).map_or_else(messages, pretty));
}

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).unwrap())
}

fn compare_text(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(format!("{name}.txt"));
    if env::var_os("ESCROW_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert!(text == expected, "the expansion of `{name}` is not that of {}; it is\n{text}", file.display());
}

#[test]
fn dtype_struct() {
    compare("dtype_struct", crate::dtype::expand, "#[repr(C)] struct Particle { position: [f32; 3], r#type: i32 }");
}

#[test]
fn dtype_transparent_generic() {
    compare("dtype_transparent_generic", crate::dtype::expand, "#[repr(transparent)] pub struct Meters<T>(pub T);");
}

#[test]
fn dtype_renamed_crate() {
    compare(
        "dtype_renamed_crate",
        crate::dtype::expand,
        "#[repr(C, packed)] #[escrow(crate = \"::gpu::escrow\")] struct Mixed { a: u8, b: u32 }",
    );
}

#[test]
fn passable_spans() {
    compare(
        "passable_spans",
        crate::passable::expand,
        "pub struct Stencil<'a, S: StreamTag = Dyn> {
            /// Read.
            pub src: DeviceSpan<'a, f32, S>,
            #[device(len_of(src))]
            n: u32,
            #[device(rename = \"factor\")]
            weight: f32,
            #[device(skip)]
            label: String,
        }",
    );
}

#[test]
fn passable_generic() {
    compare(
        "passable_generic",
        crate::passable::expand,
        "struct Axpy<'a, T: DType, U, const N: usize>(T, DeviceSpanMut<'a, [T; N], Upload>, #[device(skip)] U);",
    );
}

#[test]
fn all_faults_at_once() {
    compare(
        "all_faults_at_once",
        crate::dtype::expand,
        "#[repr(align(64))] #[escrow(krate = \"x\")] struct Pair<'a, A> { a: A, b: &'a u32 }",
    );
    compare(
        "all_faults_at_once_passable",
        crate::passable::expand,
        "struct P { #[device(len_of(nope))] n: u32, #[device(skip, rename = \"x\")] s: u8, #[device(what)] r: &'static u8 }",
    );
}

/// What is no struct with fields, in both derives: a message for each, and no two the same.
#[test]
fn what_cannot_be_derived() {
    let mut all = String::new();
    for (derive, expand) in [
        ("DType", crate::dtype::expand as fn(&DeriveInput) -> syn::Result<TokenStream>),
        ("DevicePassable", crate::passable::expand),
    ] {
        let mut seen = Vec::new();
        for input in [
            "#[repr(u8)] enum Kind { A, B }",
            "enum Never {}",
            "#[repr(C)] union Bits { a: u32, b: f32 }",
            "#[repr(C)] struct Unit;",
            "#[repr(C)] struct Tuple();",
            "#[repr(C)] struct Braces {}",
            "#[repr(C)] struct Borrowed<'a>(&'a f32);",
            "#[repr(C)] struct Pointer(*const f32);",
        ] {
            let found = expand(&syn::parse_str(input).unwrap()).map_or_else(messages, |_| "expands\n".to_owned());
            all.extend([derive, ": ", input, "\n", &found, "\n"]);
            seen.push(found.replace(input.split_whitespace().nth(2).unwrap_or_default(), ""));
        }
        let (kinds, lacks) = (&seen[..3], &seen[3..6]);
        assert!(kinds.iter().chain(lacks).all(|it| it.starts_with("error: ")), "{derive}: {seen:#?}");
        assert!(!lacks.contains(&kinds[0]) && kinds[0] != kinds[2], "{derive}");
    }
    compare_text("what_cannot_be_derived", &all);
}

#[test]
fn kernels() {
    let args = "pub struct Set, crate = ::gpu::escrow";
    let block = "unsafe extern \"kernel\" {
        /// `y += a * x`
        #[cpu(body::saxpy)]
        #[launch(cover(y))]
        #[requires(x.len() == y.len())]
        safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
        #[cpu(sum)]
        #[launch(grid(1), block(1))]
        safe fn sum<S>(p: Params<'_, S>, #[out(all)] total: &mut [f32]);
        unsafe fn r#raw(data: TrustedPtr<f32>);
    }";
    compare_text("kernels", &pretty(crate::kernels::expand(args.parse().unwrap(), block.parse().unwrap())));
}
