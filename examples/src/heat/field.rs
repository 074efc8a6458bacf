//! Fields of temperatures, and the files that they come from and go to.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use escrow::{Device, DeviceContext, HostBuffer};

use super::color::color;
use super::error::HeatError;
use super::npy::{self, Float, Header, Trouble};
use crate::blur::{BlurError, Depth, Layout, Output, PictureFile, write_picture};

/// Beyond this, sums of temperatures might leave the range of an `f32`.
const MOST: f32 = 1e30;

/// Temperatures of the points of a plate, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    width: usize,
    values: Vec<f32>,
}

impl Field {
    /// Rows of `width` values.
    ///
    /// # Panics
    /// If there are no values, or not as many as the rows need.
    pub fn new(width: usize, values: Vec<f32>) -> Field {
        assert!(!values.is_empty() && values.len().is_multiple_of(width), "{} values of {width}", values.len());
        Field { width, values }
    }

    /// Points of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// All values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..][..self.width]
    }

    /// The lowest and the highest value.
    pub fn range(&self) -> [f32; 2] {
        let fold = |f: fn(f32, f32) -> f32| self.values.iter().copied().fold(self.values[0], f);
        [fold(f32::min), fold(f32::max)]
    }
}

/// Which points keep their temperature, as if something heated or cooled them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    /// The outermost ones.
    Edges,
    /// And those that are as cold as the first or as hot as the second of these.
    Extremes([f32; 2]),
}

impl Held {
    /// Whether a point that is not at the edge is held.
    pub fn holds(self, value: f32) -> bool {
        matches!(self, Held::Extremes([cold, hot]) if value <= cold || value >= hot)
    }
}

/// What is heated.
#[derive(Clone, Debug, PartialEq)]
pub struct Plate {
    /// Its temperatures.
    pub field: Field,
    /// Its points that do not change.
    pub held: Held,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A picture.
    Png,
    /// An array.
    Npy(Float),
}

impl Kind {
    /// What a file to be written is by its name; an array has the floats of `input`, if that is one.
    ///
    /// # Errors
    /// [`HeatError::Kind`].
    pub fn of_output(path: &Path, input: Kind) -> Result<Kind, HeatError> {
        let is = |kind: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(kind));
        match input {
            _ if is("png") => Ok(Kind::Png),
            Kind::Npy(_) if is("npy") => Ok(input),
            Kind::Png if is("npy") => Ok(Kind::Npy(Float::F32)),
            _ => Err(HeatError::Kind(path.to_owned())),
        }
    }
}

/// A file whose header has been read.
enum Opened {
    Png(Box<PictureFile>),
    Npy(BufReader<File>, Header),
}

fn open(path: &Path) -> Result<Opened, HeatError> {
    let failed = |why| BlurError::Read(path.to_owned(), why);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    if file.fill_buf().map_err(failed)?.starts_with(&npy::SIGNATURE) {
        let header = Header::read(&mut file).map_err(|why| trouble(path, why))?;
        return Ok(Opened::Npy(file, header));
    }
    Ok(Opened::Png(Box::new(PictureFile::open(path)?)))
}

fn trouble(path: &Path, why: Trouble) -> HeatError {
    match why {
        Trouble::Io(why) => BlurError::Read(path.to_owned(), why).into(),
        Trouble::Format(why) => HeatError::Npy { path: path.to_owned(), why },
    }
}

/// The number of rows of a file, as its header has it.
///
/// # Errors
/// As for [`Plate::load`].
pub fn rows_of_file(path: &Path) -> Result<usize, HeatError> {
    Ok(match open(path)? {
        Opened::Png(file) => file.layout().height() as usize,
        Opened::Npy(_, header) => header.rows,
    })
}

impl Plate {
    /// Reads a picture, whose brightness from 0 to 1 is the temperature, or an array. Where `extremes` does not say it, a
    /// picture's black and white points are held, and of an array the edges only.
    ///
    /// # Errors
    /// [`HeatError::File`], [`HeatError::Npy`]; [`HeatError::Job`] if there is not enough memory.
    pub fn load(path: &Path, extremes: Option<bool>) -> Result<(Plate, Kind), HeatError> {
        let (field, range, kind) = match open(path)? {
            Opened::Png(file) => (brightness(*file)?, [0.0, 1.0], Kind::Png),
            Opened::Npy(mut file, header) => {
                let field = array(path, &mut file, &header)?;
                let range = field.range();
                (field, range, Kind::Npy(header.float))
            }
        };
        let held = if extremes.unwrap_or(kind == Kind::Png) { Held::Extremes(range) } else { Held::Edges };
        Ok((Plate { field, held }, kind))
    }

    /// The temperatures that get the coldest and the hottest colour.
    pub fn scale(&self) -> [f32; 2] {
        match self.held {
            Held::Extremes(range) => range,
            Held::Edges => self.field.range(),
        }
    }
}

/// Of a picture: that of colours as the eye sees it, without regard to alpha.
fn brightness(file: PictureFile) -> Result<Field, HeatError> {
    let layout = file.layout();
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut samples: HostBuffer<u16> = ctx.create_host_buffer(layout.samples())?;
    file.read(&mut samples)?;
    let (channels, max) = (layout.channels() as usize, u32::from(layout.depth().max()));
    // Whole numbers, so that white is 1 and not nearly so.
    let pixel = |pixel: &[u16]| match *pixel {
        [red, green, blue, ..] => {
            let sum = 2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue);
            (f64::from(sum) / f64::from(10_000 * max)) as f32
        }
        [gray, ..] => (f64::from(gray) / f64::from(max)) as f32,
        [] => unreachable!("a pixel has a channel"),
    };
    Ok(Field::new(layout.width() as usize, samples.chunks_exact(channels).map(pixel).collect()))
}

fn array(path: &Path, file: &mut impl Read, header: &Header) -> Result<Field, HeatError> {
    let values = header.read_values(file).map_err(|why| trouble(path, why))?;
    if let Some(at) = values.iter().position(|value| value.is_nan() || value.abs() > MOST) {
        let (row, column, value) = (at / header.width, at % header.width, values[at]);
        let why = format!("has {value:e} at row {row}, column {column}; a temperature lies between -1e30 and 1e30");
        return Err(HeatError::Npy { path: path.to_owned(), why });
    }
    Ok(Field::new(header.width, values))
}

impl Field {
    /// Writes an array, or a picture with the colours of the temperatures from `scale[0]` to `scale[1]`.
    ///
    /// # Errors
    /// [`HeatError::File`].
    pub fn save(&self, mut output: Output, kind: Kind, [cold, hot]: [f32; 2]) -> Result<(), HeatError> {
        match kind {
            Kind::Npy(float) => match npy::write(&mut output, float, self.width, &self.values) {
                Ok(()) => output.commit()?,
                Err(why) => return Err(output.failed(why).into()),
            },
            Kind::Png => {
                let layout = Layout::new(self.width as u32, self.rows() as u32, 3, Depth::Eight)
                    .ok_or_else(|| output.failed(std::io::Error::other("the picture would be too large")))?;
                let span = if hot > cold { hot - cold } else { 1.0 };
                let colors = self.values.iter().flat_map(|value| color((value - cold) / span));
                write_picture(output, &layout, &colors.map(u16::from).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }
}
