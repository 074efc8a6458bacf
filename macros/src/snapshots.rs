//! Expansions, compared with the files in `snapshots/`. `ESCROW_BLESS=1 cargo test -p escrow-macros` writes them anew.

use std::path::Path;
use std::{env, fs};

use proc_macro2::TokenStream;
use syn::DeriveInput;

fn compare(name: &str, expand: fn(&DeriveInput) -> syn::Result<TokenStream>, input: &str) {
    let input: DeriveInput = syn::parse_str(input).unwrap();
    let text = match expand(&input) {
        Ok(tokens) => prettyplease::unparse(&syn::parse2(tokens).unwrap()),
        Err(faults) => {
            let lines: Vec<_> = faults.into_iter().map(|fault| format!("error: {fault}")).collect();
            lines.join("\n") + "\n"
        }
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(format!("{name}.txt"));
    if env::var_os("ESCROW_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &text).unwrap();
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

#[test]
fn enums_and_unions() {
    compare("enum", crate::dtype::expand, "#[repr(u8)] enum Kind { A, B }");
    compare("union", crate::passable::expand, "union Bits { a: u32, b: f32 }");
}
