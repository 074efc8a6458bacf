//! The programs that run on several PEs: their files, their numbers, and one line and exit code 2 for what is wrong.

#[path = "common/folder.rs"]
mod folder;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use escrow_examples::blur::{Output as File, PictureFile};
use escrow_examples::heat::{Field, Float, Kind, Plate};
use folder::Folder;

const HEAT: &str = env!("CARGO_BIN_EXE_heat");
const SHIFT: &str = env!("CARGO_BIN_EXE_shift");
const DISPATCH: &str = env!("CARGO_BIN_EXE_dispatch");

fn at_root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn run<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

/// What a program prints that is right.
#[track_caller]
fn text(output: Output) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn heat(input: &Path, output: &Path, more: &[&str]) -> String {
    let text = text(run(
        HEAT,
        [input.as_os_str(), OsStr::new("--out"), output.as_os_str()].into_iter().chain(more.iter().map(OsStr::new)),
    ));
    for part in ["engine local", " points", " steps/s", " GB/s per PE"] {
        assert!(text.contains(part), "`{part}` expected in {text}");
    }
    text
}

fn save(folder: &Folder, name: &str, field: &Field, float: Float) -> PathBuf {
    let path = folder.path(name);
    field.save(File::create(&path).unwrap(), Kind::Npy(float), [0.0, 1.0]).unwrap();
    path
}

fn load(path: &Path) -> (Field, Kind) {
    let (plate, kind) = Plate::load(path, None).unwrap();
    (plate.field, kind)
}

#[test]
fn pictures_and_arrays() {
    let folder = Folder::new("heat-files");
    let plate = at_root("examples/data/plate.png");
    let mut found = Vec::new();
    for pes in ["1", "2", "3", "4"] {
        let (png, npy) = (folder.path(&format!("{pes}.png")), folder.path(&format!("{pes}.NPY")));
        let said = heat(&plate, &png, &["--pes", pes, "--steps", "30"]);
        assert!(said.contains(&format!("{pes} PEs")) && said.contains("512 x 512"), "{said}");
        heat(&plate, &npy, &["--pes", pes, "--steps", "30"]);
        found.push((std::fs::read(&png).unwrap(), std::fs::read(&npy).unwrap()));
        let layout = PictureFile::open(&png).unwrap().layout();
        assert_eq!((layout.width(), layout.height(), layout.channels()), (512, 512, 3));
        assert_eq!(load(&npy).1, Kind::Npy(Float::F32));
    }
    assert!(found.iter().all(|files| *files == found[0]), "the files depend on the number of PEs");
    assert_eq!(folder.contents().len(), 8, "only these files are left");
}

#[test]
fn arrays_keep_their_floats_and_edges() {
    let folder = Folder::new("heat-arrays");
    // Hot on the left, cold everywhere else, so that the inner points are the coldest, and are not held all the same.
    let field = Field::new(4, (0..20).map(|i| if i % 4 == 0 { 8.0 } else { 0.0 }).collect());
    for float in [Float::F32, Float::F64] {
        let (input, output) = (save(&folder, "in.npy", &field, float), folder.path("out.npy"));
        heat(&input, &output, &["--steps", "2", "--pes", "5"]);
        let (end, kind) = load(&output);
        assert_eq!(kind, Kind::Npy(float));
        assert_eq!(end.row(1), [8.0, 2.5, 0.5, 0.0]);
        assert_eq!(end.row(2), [8.0, 3.0, 0.5, 0.0]);
        heat(&input, &output, &["--steps", "2", "--held", "extremes"]);
        assert_eq!(load(&output).0, field);
    }
}

#[test]
fn a_tolerance_ends_it() {
    let folder = Folder::new("heat-tolerance");
    let input = save(&folder, "in.npy", &Field::new(6, (0..60).map(|i| (i % 7) as f32).collect()), Float::F32);
    let mut ends = Vec::new();
    for pes in ["1", "4"] {
        let arguments = ["--pes", pes, "--steps", "100000", "--check", "8", "--tolerance", "1e-4"];
        let said = heat(&input, &folder.path("out.npy"), &arguments);
        let steps: usize =
            said.lines().find_map(|line| line.strip_prefix("steps    ")?.split(',').next()?.parse().ok()).unwrap();
        assert!(steps < 1000 && steps.is_multiple_of(8), "{steps}");
        ends.push((steps, load(&folder.path("out.npy"))));
    }
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn heat_with_wrong_arguments() {
    let folder = Folder::new("heat-arguments");
    let field = Field::new(3, vec![0.0; 12]);
    let input = save(&folder, "in.npy", &field, Float::F32).to_str().unwrap().to_owned();
    let out = folder.path("out.png").to_str().unwrap().to_owned();
    let refuses = |arguments: &[&str], why: &str| folder.is_refused(Path::new(HEAT), arguments, why);
    refuses(&[], "INPUT");
    refuses(&[&input], "--out");
    for pes in ["0", "-1", "65536", "two", "1.5"] {
        refuses(&[&input, "--out", &out, &format!("--pes={pes}")], "--pes");
    }
    for name in ["--steps", "--check"] {
        for value in ["0", "-1", "many"] {
            refuses(&[&input, "--out", &out, &format!("{name}={value}")], name);
        }
    }
    for tolerance in ["-1", "nan", "inf", "little"] {
        refuses(&[&input, "--out", &out, &format!("--tolerance={tolerance}")], "--tolerance");
    }
    refuses(&[&input, "--out", &out, "--held", "nothing"], "--held");
    for pes in ["5", "4096", "65535"] {
        refuses(&[&input, "--out", &out, "--pes", pes], &format!("{pes} PEs: are too many for 4 rows"));
    }
    refuses(&[&input, "--out", &out.replace(".png", ".jpg"), "--pes", "2"], "out.jpg: is neither");
    refuses(&[&input, "--out", &out.replace(".png", ""), "--pes", "2"], "is neither");
}

#[test]
fn heat_with_wrong_files() {
    let folder = Folder::new("heat-wrong");
    let out = folder.write("out.png", b"what was there before");
    for pes in ["1", "2"] {
        let refuses = |input: &Path, out: &Path, why: &str| {
            let arguments =
                [input.as_os_str(), OsStr::new("--out"), out.as_os_str(), OsStr::new("--pes"), OsStr::new(pes)];
            folder.is_refused(Path::new(HEAT), arguments, why);
        };
        refuses(&folder.path("missing.png"), &out, "missing.png: cannot be read");
        refuses(&folder.path(""), &out, "cannot be read");
        refuses(&folder.write("a.png", b"GIF89a"), &out, "a.png: is not a PNG file");
        refuses(&folder.write("a.png", b""), &out, "a.png: is not a PNG file");
        let plate = std::fs::read(at_root("examples/data/plate.png")).unwrap();
        refuses(&folder.write("a.png", &plate[..plate.len() / 2]), &out, "a.png: ends too early");
        refuses(&folder.write("a.png", &plate[..20]), &out, "a.png: ends too early");

        let array = std::fs::read(save(&folder, "a.npy", &Field::new(3, vec![0.5; 12]), Float::F32)).unwrap();
        refuses(&folder.write("a.npy", &array[..array.len() - 1]), &out, "a.npy: ends too early");
        refuses(&folder.write("a.npy", &array[..7]), &out, "a.npy: ends too early");
        let mut broken = array.clone();
        broken[10] = b'!';
        broken[12] = b'!';
        refuses(&folder.write("a.npy", &broken), &out, "a.npy: is a broken .npy file");
        let at = array.len() - 8;
        for value in [f32::NAN, f32::INFINITY, -1e31] {
            let mut hot = array.clone();
            hot[at..at + 4].copy_from_slice(&value.to_le_bytes());
            refuses(&folder.write("a.npy", &hot), &out, "at row 3, column 1");
        }
        let integers = String::from_utf8_lossy(&array[..array.len() - 48]).into_owned();
        assert!(integers.contains("<f4"));
        let mut integers = array.clone();
        let kind = array.windows(3).position(|window| window == b"<f4").unwrap();
        integers[kind..kind + 3].copy_from_slice(b"<i4");
        refuses(&folder.write("a.npy", &integers), &out, "neither float32 nor float64");

        let good = folder.write("a.npy", &array);
        refuses(&good, &folder.path("missing/out.png"), "out.png: cannot be written");
        std::fs::create_dir_all(folder.path("inner.png")).unwrap();
        refuses(&good, &folder.path("inner.png"), "inner.png: is there and is not a regular file");
    }
}

#[test]
fn help_and_version() {
    for program in [HEAT, SHIFT, DISPATCH] {
        for flag in ["--help", "--version"] {
            assert!(!text(run(program, [flag])).is_empty());
        }
    }
}

#[test]
fn shift_around_the_ring() {
    assert_eq!(text(run(SHIFT, ["--pes", "1"])), "PE: 0 received: 0\n");
    for pes in [2, 3, 8] {
        let line = |pe: usize| format!("PE: {pe} received: {}\n", (pe + pes - 1) % pes);
        assert_eq!(text(run(SHIFT, ["--pes", &pes.to_string()])), (0..pes).map(line).collect::<String>());
    }
    let folder = Folder::new("shift");
    folder.is_refused(Path::new(SHIFT), ["--pes", "0"], "--pes");
    folder.is_refused(Path::new(SHIFT), ["3"], "3");
}

#[test]
fn dispatch_of_a_text() {
    let input = at_root("LICENSE-APACHE");
    let input = input.to_str().unwrap();
    for pes in ["1", "2", "3", "4"] {
        let said = text(run(DISPATCH, [input, "--pes", pes, "--rounds", "2", "--dim", "16"]));
        for part in [&format!("{pes} PEs"), "bit by bit", " tokens/s", " GB/s"] {
            assert!(said.contains(part), "`{part}` expected in {said}");
        }
    }
    let folder = Folder::new("dispatch");
    let refuses = |arguments: &[&str], why: &str| folder.is_refused(Path::new(DISPATCH), arguments, why);
    refuses(&[], "TEXT");
    for (name, values) in
        [("--pes", ["0", "x"]), ("--experts", ["1", "5000"]), ("--dim", ["0", "5000"]), ("--rounds", ["0", "x"])]
    {
        for value in values {
            refuses(&[input, name, value], name);
        }
    }
    let blank = folder.write("blank.txt", b" \n\t ");
    let bytes = folder.write("bytes.txt", b"\xff\xfe");
    for pes in ["1", "3"] {
        refuses(&[folder.path("missing.txt").to_str().unwrap(), "--pes", pes], "missing.txt: cannot be read");
        refuses(&[blank.to_str().unwrap(), "--pes", pes], "blank.txt: has no words");
        refuses(&[bytes.to_str().unwrap(), "--pes", pes], "bytes.txt: cannot be read");
    }
}

/// As processes of Open MPI, where that is installed.
#[test]
fn under_oshrun() {
    if !Command::new("oshrun").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: no oshrun (Debian: openmpi-bin libopenmpi-dev)");
        return;
    }
    let folder = Folder::new("oshrun");
    let oshrun = |pes: usize, program: &str, arguments: &[&OsStr]| {
        let pes = pes.to_string();
        Command::new("oshrun")
            .args(["--allow-run-as-root", "--oversubscribe", "--timeout", "120", "-np", &pes, program])
            .args(arguments)
            .args(["--pes", &pes])
            .env_remove("ESCROW_SHMEM")
            .output()
            .unwrap()
    };
    let said = |output: Output| {
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let plate = at_root("examples/data/plate.png");
    let alone = folder.path("alone.npy");
    heat(&plate, &alone, &["--steps", "50"]);
    for pes in 1..=4 {
        let out = folder.path("out.npy");
        let arguments =
            [plate.as_os_str(), OsStr::new("--steps"), OsStr::new("50"), OsStr::new("--out"), out.as_os_str()];
        let text = said(oshrun(pes, HEAT, &arguments));
        assert_eq!(text.matches("engine openshmem").count(), 1, "{text}");
        assert!(std::fs::read(&out).unwrap() == std::fs::read(&alone).unwrap(), "{pes} processes");
        assert_eq!(said(oshrun(pes, SHIFT, &[])).matches("received").count(), pes);
    }
    let text =
        said(oshrun(3, DISPATCH, &[at_root("LICENSE-APACHE").as_os_str(), OsStr::new("--rounds"), OsStr::new("2")]));
    assert_eq!(text.matches("bit by bit").count(), 1, "{text}");

    // One process says what is wrong, for all of them.
    let failed = oshrun(3, HEAT, &[OsStr::new("missing.png"), OsStr::new("--out"), OsStr::new("out.png")]);
    let stderr = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.matches("missing.png: cannot be read").count(), 1, "{stderr}");
}
