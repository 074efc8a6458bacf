//! The program: good pictures of every kind, and one line and exit code 2 for everything that is wrong.

mod common;
#[path = "common/folder.rs"]
mod folder;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Output};

use common::{Numbers, reference};
use folder::Folder;
use png::{BitDepth, ColorType, Transformations};

fn blur<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blur")).args(arguments).output().unwrap()
}

/// Checks that the program says what is wrong in one line, returns 2, and leaves the folder as it was.
#[track_caller]
fn refuses<A: AsRef<OsStr>>(folder: &Folder, arguments: impl IntoIterator<Item = A>, why: &str) {
    folder.is_refused(Path::new(env!("CARGO_BIN_EXE_blur")), arguments, why);
}

/// A PNG picture by hand: the `png` crate writes neither interlaced nor broken ones.
struct Raw {
    width: u32,
    height: u32,
    depth: u8,
    color: u8,
    interlaced: bool,
    /// Chunks before the samples.
    extra: Vec<(&'static [u8; 4], Vec<u8>)>,
    /// Rows, or those of all seven passes, each with its filter byte in front.
    rows: Vec<u8>,
}

impl Raw {
    fn bytes(&self) -> Vec<u8> {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = [self.width.to_be_bytes(), self.height.to_be_bytes()].concat();
        header.extend([self.depth, self.color, 0, 0, self.interlaced.into()]);
        chunk(&mut png, *b"IHDR", &header);
        for (name, data) in &self.extra {
            chunk(&mut png, **name, data);
        }
        chunk(&mut png, *b"IDAT", &zlib(&self.rows));
        chunk(&mut png, *b"IEND", &[]);
        png
    }
}

fn chunk(png: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let body = [&name[..], data].concat();
    let crc = !body.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    });
    png.extend((data.len() as u32).to_be_bytes());
    png.extend(body);
    png.extend(crc.to_be_bytes());
}

/// A zlib stream that compresses nothing.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        stream.push(blocks.peek().is_none().into());
        stream.extend(len.to_le_bytes());
        stream.extend((!len).to_le_bytes());
        stream.extend(block);
    }
    let (a, b) = data.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

/// Any picture of a colour type and depth, in rows with filter 0.
fn any_picture(color: ColorType, depth: BitDepth, interlaced: bool, numbers: &mut Numbers) -> Raw {
    let (width, height) = (37u32, 26u32);
    let bits = color.samples() * depth as usize;
    let mut rows = Vec::new();
    let mut pass = |width: u32, height: u32| {
        for _ in 0..if width == 0 { 0 } else { height } {
            rows.push(0);
            rows.extend((0..(width as usize * bits).div_ceil(8)).map(|_| numbers.next() as u8));
        }
    };
    if interlaced {
        for (x, y, dx, dy) in
            [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        {
            pass((width - x).div_ceil(dx), (height - y).div_ceil(dy));
        }
    } else {
        pass(width, height);
    }
    let mut extra = Vec::new();
    if color == ColorType::Indexed {
        extra.push((b"PLTE", (0..3 << depth as usize).map(|_| numbers.next() as u8).collect()));
    }
    Raw { width, height, depth: depth as u8, color: color as u8, interlaced, extra, rows }
}

/// Size, colour type, depth and samples of a file, after expansion.
fn decode(path: &Path) -> ((u32, u32), ColorType, BitDepth, Vec<u16>) {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    let (color, depth) = reader.output_color_type();
    let samples = match depth {
        BitDepth::Sixteen => bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect(),
        _ => bytes.into_iter().map(u16::from).collect(),
    };
    (reader.info().size(), color, depth, samples)
}

/// Blurs `bytes` and compares the file with the plain blur.
fn check(folder: &Folder, name: &str, bytes: &[u8], sigma: &str) {
    let (input, output) = (folder.write("in.png", bytes), folder.path("out.png"));
    let run = blur([input.as_os_str(), output.as_os_str(), OsStr::new("--sigma"), OsStr::new(sigma)]);
    let (stdout, stderr) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.success(), "{name}: {stderr}");
    assert!(stderr.is_empty(), "{name}: {stderr}");
    for part in ["device   ", "37 x 26 pixels", &format!("sigma {sigma}"), "GB/s", " ms"] {
        assert!(stdout.contains(part), "{name}: `{part}` expected in {stdout}");
    }
    let (size, color, depth, samples) = decode(&input);
    let max = if depth == BitDepth::Sixteen { u16::MAX } else { 255 };
    let expected = reference(&samples, size.0 as usize, color.samples(), max, sigma.parse().unwrap());
    let found = decode(&output);
    assert_eq!((found.0, found.1, found.2), (size, color, depth), "{name}");
    assert!(found.3 == expected, "{name}: the samples differ");
    assert_eq!(folder.contents().len(), 2, "{name}: only the two files are left");
}

#[test]
fn every_kind_of_png() {
    use BitDepth::{Eight, Four, One, Sixteen, Two};
    let folder = Folder::new("blur-kinds");
    let mut numbers = Numbers(20);
    let kinds: [(ColorType, &[BitDepth]); 5] = [
        (ColorType::Grayscale, &[One, Two, Four, Eight, Sixteen]),
        (ColorType::GrayscaleAlpha, &[Eight, Sixteen]),
        (ColorType::Rgb, &[Eight, Sixteen]),
        (ColorType::Rgba, &[Eight, Sixteen]),
        (ColorType::Indexed, &[One, Two, Four, Eight]),
    ];
    for (color, depths) in kinds {
        for &depth in depths {
            for interlaced in [false, true] {
                let mut picture = any_picture(color, depth, interlaced, &mut numbers);
                let name = format!("{color:?} {depth:?}, interlaced: {interlaced}");
                check(&folder, &name, &picture.bytes(), "1.5");
                let transparent = match color {
                    ColorType::Grayscale => vec![0, 1],
                    ColorType::Rgb => vec![0, 1, 0, 2, 0, 3],
                    ColorType::Indexed => vec![7, 200],
                    _ => continue,
                };
                picture.extra.push((b"tRNS", transparent));
                check(&folder, &format!("{name}, tRNS"), &picture.bytes(), "1.5");
            }
        }
    }
}

#[test]
fn a_file_in_its_own_place() {
    let folder = Folder::new("blur-place");
    let path = folder.write("p.png", &any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(21)).bytes());
    let (size, _, _, samples) = decode(&path);
    assert!(blur([&path, &path]).status.success());
    assert!(decode(&path).3 == reference(&samples, size.0 as usize, 3, 255, 3.0), "sigma is 3 if not given");
}

#[test]
fn help_and_version() {
    for flag in ["--help", "--version"] {
        let output = blur([flag]);
        assert!(output.status.success() && output.stderr.is_empty() && !output.stdout.is_empty(), "{flag}");
    }
}

#[test]
fn wrong_arguments() {
    let folder = Folder::new("blur-arguments");
    let input = folder.write("in.png", &any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(22)).bytes());
    let (input, output) = (input.to_str().unwrap().to_owned(), folder.path("out.png").to_str().unwrap().to_owned());
    for sigma in ["0", "-0", "-3", "nan", "-nan", "inf", "-inf", "1e999", "200.1", "1e300"] {
        refuses(&folder, [&*input, &output, "--sigma", sigma], "above 0 and up to 200");
        refuses(&folder, [&*input, &output, &format!("--sigma={sigma}")], "above 0 and up to 200");
    }
    for sigma in ["", "three", "3px", "0x3", "3,5"] {
        refuses(&folder, [&*input, &output, "--sigma", sigma], "--sigma");
    }
    refuses(&folder, [&*input, &output, "--sigma"], "--sigma");
    refuses(&folder, [&*input, &output, "--sigma", "1", "--sigma", "2"], "--sigma");
    refuses::<&str>(&folder, [], "INPUT");
    refuses(&folder, [&*input], "OUTPUT");
    refuses(&folder, [&*input, &output, "more"], "more");
    refuses(&folder, [&*input, &output, "--strength", "3"], "--strength");
}

#[test]
fn wrong_paths() {
    let folder = Folder::new("blur-paths");
    let input = folder.write("in.png", &any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(23)).bytes());
    let inner = folder.path("inner.png");
    fs::create_dir(&inner).unwrap();
    let output = folder.path("out.png");
    refuses(&folder, [&folder.path("missing.png"), &output], "missing.png: cannot be read");
    refuses(&folder, [&folder.path("two\nlines.png"), &output], "two?lines.png: cannot be read");
    refuses(&folder, [Path::new(""), &output], "<INPUT>");
    refuses(&folder, [&inner, &output], "inner.png: cannot be read");
    refuses(&folder, [&input.join("below.png"), &output], "cannot be read");
    refuses(&folder, [&input, &inner], "inner.png: is there and is not a regular file");
    refuses(&folder, [&*input, Path::new("")], "<OUTPUT>");
    refuses(&folder, [&input, &folder.path("missing/out.png")], "missing/out.png: cannot be written");
    refuses(&folder, [&input, &input.join("out.png")], "cannot be written");
    #[cfg(unix)]
    refuses(&folder, [&*input, Path::new("/dev/null")], "is not a regular file");
}

/// A link to the output stays a link.
#[cfg(unix)]
#[test]
fn links() {
    let folder = Folder::new("blur-links");
    let input = folder.write("in.png", &any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(24)).bytes());
    let (target, link) = (folder.write("target.png", b"old"), folder.path("link.png"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(blur([&input, &link]).status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(decode(&target).0, (37, 26));
}

#[test]
fn broken_pictures() {
    let folder = Folder::new("blur-broken");
    let old = folder.write("out.png", b"what was there before");
    let picture = any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(25));
    let whole = picture.bytes();
    let try_bytes = |bytes: &[u8], why: &str| {
        let input = folder.write("in.png", bytes);
        refuses(&folder, [&input, &old], why);
    };

    try_bytes(b"", "is not a PNG");
    try_bytes(b"GIF89a, perhaps", "is not a PNG");
    try_bytes(&whole[..7], "is not a PNG");
    // Cut off anywhere, up to the last byte.
    for len in (8..whole.len()).step_by(97).chain(whole.len() - 16..whole.len()) {
        try_bytes(&whole[..len], "the PNG is truncated");
    }
    // One bit of the samples: the checksum tells.
    let mut bytes = whole.clone();
    bytes[200] ^= 1;
    try_bytes(&bytes, "CRC error");
    // Of the header.
    let mut bytes = whole.clone();
    bytes[19] ^= 1;
    try_bytes(&bytes, "CRC error");
    // Right checksums around wrong contents.
    try_bytes(&Raw { color: 5, ..copy(&picture) }.bytes(), "is a broken PNG");
    try_bytes(&Raw { depth: 3, ..copy(&picture) }.bytes(), "is a broken PNG");
    try_bytes(&Raw { width: 0, ..copy(&picture) }.bytes(), "is a broken PNG");
    try_bytes(&Raw { color: 3, ..copy(&picture) }.bytes(), "is a broken PNG");
    try_bytes(&Raw { rows: picture.rows[..500].to_vec(), ..copy(&picture) }.bytes(), "is a broken PNG");
    try_bytes(&Raw { rows: vec![9; picture.rows.len()], ..copy(&picture) }.bytes(), "is a broken PNG");
    let mut bytes = whole[..33].to_vec();
    chunk(&mut bytes, *b"IDAT", b"this is no zlib stream");
    chunk(&mut bytes, *b"IEND", &[]);
    try_bytes(&bytes, "is a broken PNG");
}

#[test]
fn pictures_too_large() {
    let folder = Folder::new("blur-large");
    let picture = any_picture(ColorType::Rgb, BitDepth::Eight, false, &mut Numbers(26));
    let most = i32::MAX as u32;
    for (width, height) in [(most, most), (most, 1), (1, most), (1 << 20, 1 << 20), (30_000, 30_000)] {
        let input = folder.write("in.png", &Raw { width, height, ..copy(&picture) }.bytes());
        refuses(&folder, [&input, &folder.path("out.png")], "pixels are too many");
    }
}

fn copy(picture: &Raw) -> Raw {
    Raw { extra: picture.extra.clone(), rows: picture.rows.clone(), ..*picture }
}
