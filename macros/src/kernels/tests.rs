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

#[test]
fn kernels_with_ptx_are_launched_with_what_it_has() {
    let args = quote!(struct Set, ptx = "../ui-tests/ptx/blas.ptx", target = "sm_70");
    let input = quote! {
        unsafe extern "kernel" {
            #[cpu(scale)]
            unsafe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
            #[ptx("_Z5clampfPfj")]
            unsafe fn limit(factor: Limit, data: &mut [f32], n: u32);
            unsafe fn stencil<Q>(p: Stencil<'_, Q>);
            #[ptx(none)] #[cpu(clear)]
            unsafe fn clear(data: &mut [f32]);
        }
    };
    let text = expand(args, input).to_string();
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("include_str ! (:: core :: concat ! (:: core :: env ! (\"CARGO_MANIFEST_DIR\")"), "{text}");
    assert!(text.contains(r#"& ["scale" , "_Z5clampfPfj" , "stencil"]"#), "{text}");
    assert_eq!(text.matches("enqueue_on_gpu").count(), 3);
    // `factor` and `n` of two kernels; `p` in the constant and, for each tag, in the method.
    assert_eq!(text.matches("check_param").count(), 2 + 2 + 2);
}

#[test]
fn kernels_that_differ_from_ptx_are_there_for_their_callers() {
    let input = quote! {
        unsafe extern "kernel" {
            unsafe fn scale(factor: f32);
            unsafe fn missing();
            #[ptx(none)]
            unsafe fn nowhere();
            #[ptx(some)]
            unsafe fn word();
        }
    };
    let expand = |args| expand(args, input.clone()).to_string();
    let text = expand(quote!(struct Set, ptx = "../ui-tests/ptx/blas.ptx", target = "sm_60"));
    assert_eq!(text.matches("compile_error").count(), 5, "{text}");
    assert!(text.contains("fn scale") && text.contains("fn missing"));
    for args in [
        quote!(struct Set, ptx = "no/such/file.ptx"),
        quote!(struct Set, ptx = "src"),
        quote!(struct Set, ptx = "Cargo.toml"),
        quote!(struct Set, ptx = 1),
        quote!(struct Set, ptx),
        quote!(struct Set, target = "sm_70"),
        quote!(struct Set, ptx = "../ui-tests/ptx/blas.ptx", target = "70"),
        quote!(struct Set, ptx = "../ui-tests/ptx/blas.ptx", ptx = "../ui-tests/ptx/blas.ptx"),
    ] {
        assert!(expand(args).contains("compile_error"));
    }
}

#[test]
fn images_that_come_later() {
    let kernels = quote! {
        unsafe extern "kernel" {
            #[ptx("_Z1fPf")]
            unsafe fn f(x: &[f32]);
            #[ptx(none)]
            unsafe fn nowhere(x: &[f32]);
        }
    };
    let found = messages(quote!(struct Set, image, image), kernels.clone());
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().any(|it| it.contains("given twice")) && found.iter().any(|it| it.contains("runs nowhere")));
    // Without `image` there is nothing that `ptx` could speak of, and no way to load it.
    let text = expand(quote!(struct Set), kernels.clone()).to_string();
    assert!(text.contains("it has none") && !text.contains("load_image"));
    assert!(expand(quote!(struct Set, image), kernels).to_string().contains("load_image"));
}
