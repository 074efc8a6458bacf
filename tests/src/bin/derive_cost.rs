//! What 200 derived types cost to compile, above the same types without derives. `cargo run -p escrow-tests --bin derive_cost`
//! prints the seconds of `rustc`, which `docs/rules.md` records.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use escrow_tests::mutations::libraries;

/// Types of each of two kinds: elements, and structs of spans.
const TYPES: usize = 100;

/// A crate with the types, in which everything of them is used once.
fn source(derived: bool) -> String {
    let (element, passable) = if derived {
        ("#[derive(Clone, Copy, escrow::DType)]", "#[derive(escrow::DevicePassable)]")
    } else {
        ("#[derive(Clone, Copy)]", "")
    };
    let mut text = "#![allow(dead_code)]\n".to_owned();
    for i in 0..TYPES {
        let _ = write!(
            text,
            "{element} #[repr(C)] pub struct Element{i} {{ position: [f32; 3], mass: f32, kind: u32, flags: [u16; 2] }}\n\
             {passable} pub struct Params{i}<'a> {{ src: escrow::DeviceSpan<'a, Element0>, dst: escrow::DeviceSpanMut<'a, f32>, n: u32, weight: f32 }}\n"
        );
    }
    text
}

/// The fastest of five compilations.
fn seconds(folder: &Path, target: &Path, library: &str, derived: bool) -> f64 {
    let file = folder.join(if derived { "derived.rs" } else { "plain.rs" });
    // A span of what is no element would not compile.
    let text = source(derived).replace("Element0>", if derived { "Element0>" } else { "f32>" });
    fs::write(&file, text).expect("it can be written");
    let once = || {
        let start = Instant::now();
        let compiled = Command::new("rustc")
            .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"])
            .arg(folder)
            .arg(format!("-Ldependency={}/debug/deps", target.display()))
            .arg(format!("--extern=escrow={library}"))
            .arg(&file)
            .status();
        assert!(compiled.is_ok_and(|status| status.success()), "{} does not compile", file.display());
        start.elapsed()
    };
    (0..5).map(|_| once()).min().unwrap_or(Duration::ZERO).as_secs_f64()
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace");
    let target = root.join("target/mutations/build");
    let [library, _] = libraries(root, &target).expect("the crate compiles");
    let folder = env::temp_dir().join(format!("escrow-derives-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let (plain, derived) = (seconds(&folder, &target, &library, false), seconds(&folder, &target, &library, true));
    fs::remove_dir_all(&folder).expect("it can be removed");
    println!("{} types: {derived:.2} s with derives, {plain:.2} s without, {:.2} s more", 2 * TYPES, derived - plain);
}
