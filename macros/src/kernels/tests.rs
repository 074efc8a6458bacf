//! Faults are messages, never panics, and all of them come at once.

use quote::quote;

use super::expand;

/// The messages of an expansion.
fn messages(args: proc_macro2::TokenStream, input: proc_macro2::TokenStream) -> Vec<String> {
    let text = expand(args, input).to_string();
    text.split("compile_error ! {").skip(1).map(|rest| rest.split('"').nth(1).unwrap_or_default().to_owned()).collect()
}

#[test]
fn all_faults_at_once_and_the_rest_expands() {
    let input = quote! {
        extern "C" {
            fn neither(x: &[f32]);
            safe fn no_launch(x: &[f32]);
            unsafe fn reference(x: &f32);
            static NO: u32;
            unsafe fn fine(x: &[f32]);
        }
    };
    let found = messages(quote!(struct Set), input.clone());
    assert_eq!(found.len(), 6, "{found:#?}");
    let text = expand(quote!(struct Set), input).to_string();
    assert!(text.contains("fn fine") && !text.contains("fn reference"));
}

#[test]
fn whatever_comes_in_is_no_panic() {
    let inputs = [
        quote!(),
        quote!(
            mod x {}
        ),
        quote!(
            unsafe extern "kernel" {}
        ),
        quote!(unsafe extern "kernel" { ; }),
        quote!(unsafe extern "kernel" { safe }),
        quote!(unsafe extern "kernel" { safe fn f() }),
        quote!(
            unsafe extern "kernel" {
                #[launch()]
                #[cpu()]
                #[requires()]
                safe fn f(
                    #[len_of()]
                    #[out()]
                    n: u32,
                );
            }
        ),
        quote!(
            unsafe extern "kernel" {
                #[launch(cover)]
                #[cpu(single)]
                safe fn f(a: fn(), (b, c): (u8, u8), ...);
            }
        ),
        quote!(
            unsafe extern "kernel" {
                #[launch(max(grid = (), block = (1, 2, 3, 4)))]
                safe fn f();
            }
        ),
        quote!(
            unsafe extern "kernel" {
                #[launch(grid(), block())]
                safe fn f();
            }
        ),
        quote!(
            unsafe extern "kernel" {
                #[launch(cover(p.0.x.))]
                unsafe fn f(p: P<'_, '_>);
            }
        ),
    ];
    for args in [quote!(), quote!(struct), quote!(pub struct A), quote!(struct A, crate), quote!(struct r#type, x = 1)]
    {
        for input in &inputs {
            expand(args.clone(), input.clone());
        }
    }
}

#[test]
fn names_of_the_declaration_are_not_taken() {
    let input = quote! {
        unsafe extern "kernel" {
            #[cpu(body)]
            unsafe fn f(x: &[A0], y: &mut [S], z: Body, w: S_);
        }
    };
    let text = expand(quote!(struct Set), input).to_string();
    for name in ["A0_", "A1", "S__", "Body_"] {
        assert!(text.contains(&format!("{name} ")), "{name}");
    }
}
