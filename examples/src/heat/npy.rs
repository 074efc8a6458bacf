//! `.npy` files with two dimensions of floats.
//!
//! The format is a line of text before the numbers, so this needs no crate; those there are bring a parser generator.

use std::io::{self, Read, Write};

/// How every `.npy` file begins.
pub const SIGNATURE: [u8; 6] = *b"\x93NUMPY";
/// The longest header that is read: those of two dimensions have some 100 bytes.
const MAX_HEADER: usize = 1 << 16;
/// Elements of the largest array: what a 32-bit index reaches on the device.
const MAX_ELEMENTS: usize = 1 << 31;

/// What the numbers are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// Four bytes.
    F32,
    /// Eight bytes, rounded to four when they are read.
    F64,
}

impl Float {
    fn bytes(self) -> usize {
        match self {
            Float::F32 => 4,
            Float::F64 => 8,
        }
    }
}

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub float: Float,
    big_endian: bool,
    /// Whether columns, not rows, lie side by side.
    by_columns: bool,
    pub rows: usize,
    pub width: usize,
}

/// Why a file was not read: the system's reason, or what is wrong with it.
#[derive(Debug)]
pub enum Trouble {
    Io(io::Error),
    Format(String),
}

impl From<io::Error> for Trouble {
    fn from(why: io::Error) -> Trouble {
        match why.kind() {
            io::ErrorKind::UnexpectedEof => truncated(),
            _ => Trouble::Io(why),
        }
    }
}

fn truncated() -> Trouble {
    Trouble::Format("ends too early, the array is truncated; get a complete copy".to_owned())
}

fn broken(what: &str) -> Trouble {
    Trouble::Format(format!("is a broken .npy file ({what}); get an intact copy"))
}

impl Header {
    /// Reads up to the numbers.
    pub fn read(file: &mut impl Read) -> Result<Header, Trouble> {
        let mut start = [0; 8];
        file.read_exact(&mut start)?;
        if !start.starts_with(&SIGNATURE) {
            return Err(broken("its signature is missing"));
        }
        let len = if start[6] == 1 {
            let mut len = [0; 2];
            file.read_exact(&mut len)?;
            u16::from_le_bytes(len).into()
        } else {
            let mut len = [0; 4];
            file.read_exact(&mut len)?;
            u32::from_le_bytes(len) as usize
        };
        if !(1..=3).contains(&start[6]) || len > MAX_HEADER {
            return Err(broken("its version or header is not known"));
        }
        let mut text = vec![0; len];
        file.read_exact(&mut text)?;
        Header::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Result<Header, Trouble> {
        let float = value(text, "descr").ok_or_else(|| broken("no type in its header"))?;
        let kind = float.trim_start_matches(['\'', '"']).get(..3).unwrap_or("");
        let (big_endian, float) = match kind {
            "<f4" => (false, Float::F32),
            ">f4" => (true, Float::F32),
            "<f8" => (false, Float::F64),
            ">f8" => (true, Float::F64),
            _ => {
                let why = "has elements that are neither float32 nor float64; save `array.astype('float32')`";
                return Err(Trouble::Format(why.to_owned()));
            }
        };
        let order = value(text, "fortran_order").ok_or_else(|| broken("no order in its header"))?;
        let shape = value(text, "shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
        let (shape, _) = shape.ok_or_else(|| broken("no shape in its header"))?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let sizes: Result<Vec<usize>, _> = sizes.map(str::parse).collect();
        let sizes = sizes.map_err(|_| broken("its shape is not made of numbers"))?;
        let &[rows, width] = &sizes[..] else {
            let why = format!("has {} dimensions; a plate has 2: save `array.reshape(rows, columns)`", sizes.len());
            return Err(Trouble::Format(why));
        };
        match rows.checked_mul(width) {
            Some(0) => Err(Trouble::Format("has no elements; a plate has at least one".to_owned())),
            Some(1..=MAX_ELEMENTS) => {
                Ok(Header { float, big_endian, by_columns: order.starts_with("True"), rows, width })
            }
            _ => Err(Trouble::Format(format!("{rows} x {width} elements are too many; cut or thin the array first"))),
        }
    }

    /// Reads the numbers, row by row.
    pub fn read_values(&self, file: &mut impl Read) -> Result<Vec<f32>, Trouble> {
        let (len, size) = (self.rows * self.width, self.float.bytes());
        // As much as there is, so that a header alone takes no memory.
        let mut bytes = Vec::new();
        file.take((len * size) as u64).read_to_end(&mut bytes)?;
        if bytes.len() < len * size {
            return Err(truncated());
        }
        let mut values: Vec<f32> = bytes.chunks_exact(size).map(|bytes| self.number(bytes)).collect();
        if self.by_columns {
            let at = |i| values[i % self.width * self.rows + i / self.width];
            values = (0..len).map(at).collect();
        }
        Ok(values)
    }

    fn number(&self, bytes: &[u8]) -> f32 {
        let mut swapped = [0; 8];
        let bytes = if self.big_endian {
            swapped[..bytes.len()].copy_from_slice(bytes);
            swapped[..bytes.len()].reverse();
            &swapped[..bytes.len()]
        } else {
            bytes
        };
        match *bytes {
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
            _ => unreachable!("floats have 4 or 8 bytes"),
        }
    }
}

/// What stands behind `key` and its colon.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("'{key}'")).or_else(|| text.split_once(&format!("\"{key}\"")))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Writes an array with rows of `width` elements.
pub fn write(file: &mut impl Write, float: Float, width: usize, values: &[f32]) -> io::Result<()> {
    let kind = if float == Float::F32 { "<f4" } else { "<f8" };
    let mut header = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}, {width}), }}",
        values.len().checked_div(width).unwrap_or(0),
    );
    // The numbers begin at a multiple of 64.
    let start = SIGNATURE.len() + 4;
    header.push_str(&" ".repeat((start + header.len() + 1).next_multiple_of(64) - (start + header.len() + 1)));
    header.push('\n');
    file.write_all(&SIGNATURE)?;
    file.write_all(&[1, 0])?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for &value in values {
        match float {
            Float::F32 => file.write_all(&value.to_le_bytes())?,
            Float::F64 => file.write_all(&f64::from(value).to_le_bytes())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut file: &[u8]) -> Result<(Header, Vec<f32>), String> {
        let say = |trouble| match trouble {
            Trouble::Io(why) => why.to_string(),
            Trouble::Format(why) => why,
        };
        let header = Header::read(&mut file).map_err(say)?;
        header.read_values(&mut file).map(|values| (header, values)).map_err(say)
    }

    /// A file with this header and these bytes.
    fn file(header: &str, bytes: &[u8]) -> Vec<u8> {
        [&SIGNATURE[..], &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), bytes].concat()
    }

    #[test]
    fn there_and_back() {
        let values = [1.0, -2.5, 1e-30, 4.0, 5.0, 6.0];
        for float in [Float::F32, Float::F64] {
            let mut bytes = Vec::new();
            write(&mut bytes, float, 3, &values).unwrap();
            assert_eq!((bytes.len() - 6 * float.bytes()) % 64, 0);
            let (header, found) = read(&bytes).unwrap();
            assert_eq!((header.float, header.rows, header.width, &found[..]), (float, 2, 3, &values[..]));
            for len in 0..bytes.len() {
                assert!(read(&bytes[..len]).unwrap_err().contains("truncated"), "{len} bytes");
            }
        }
    }

    #[test]
    fn orders() {
        let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|value| value.to_be_bytes()).collect();
        let columns = file("{\"descr\": \">f4\", \"fortran_order\": True, \"shape\": (2, 3)}", &bytes);
        assert_eq!(read(&columns).unwrap().1, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        let bytes: Vec<u8> = [1.5f64, 2.0].iter().flat_map(|value| value.to_be_bytes()).collect();
        let rows = file("{'shape':(1,2,),'descr':'>f8','fortran_order':False}", &bytes);
        assert_eq!(read(&rows).unwrap().1, [1.5, 2.0]);
    }

    #[test]
    fn what_is_no_plate() {
        let header = |descr: &str, shape: &str| {
            file(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"), &[0; 64])
        };
        for (file, why) in [
            (header("'<i4'", "(2, 2)"), "neither float32 nor float64"),
            (header("[('x', '<f4')]", "(2, 2)"), "neither float32 nor float64"),
            (header("'<f4'", "(4,)"), "has 1 dimensions"),
            (header("'<f4'", "()"), "has 0 dimensions"),
            (header("'<f4'", "(1, 2, 2)"), "has 3 dimensions"),
            (header("'<f4'", "(0, 2)"), "has no elements"),
            (header("'<f4'", "(65536, 65536)"), "too many"),
            (header("'<f4'", "(99999999999, 99999999999)"), "too many"),
            (header("'<f4'", "(-1, 2)"), "broken"),
            (header("'<f4'", "2"), "broken"),
            (header("'<f4'", "(20000, 20000)"), "truncated"),
            (file("{}", &[]), "broken"),
            (file("", &[]), "broken"),
            (b"\x93NUMPY\x09\x00\x00\x00\x00\x00".to_vec(), "broken"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "broken"),
        ] {
            let found = read(&file).unwrap_err();
            assert!(found.contains(why), "`{why}` expected: {found}");
        }
    }
}
