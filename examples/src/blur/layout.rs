//! How the samples of a picture lie in memory.

/// Samples of the largest picture: what a 32-bit index reaches, and 4 GiB of pinned memory.
const MAX_SAMPLES: u64 = 1 << 31;

/// Bits of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// 0 to 255.
    Eight,
    /// 0 to 65535.
    Sixteen,
}

impl Depth {
    /// The largest sample.
    pub fn max(self) -> u16 {
        match self {
            Depth::Eight => u8::MAX.into(),
            Depth::Sixteen => u16::MAX,
        }
    }

    /// Bits of a sample.
    pub fn bits(self) -> u32 {
        self.max().count_ones()
    }
}

/// Rows from top to bottom, pixels from left to right, channels side by side: gray, gray and alpha, RGB or RGBA.
///
/// Samples of either depth are `u16` in memory, so that one pair of kernels serves all pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    width: u32,
    height: u32,
    channels: u32,
    depth: Depth,
}

impl Layout {
    /// The layout of a picture, or `None` if it has no pixels, no known channels, or too many samples.
    pub fn new(width: u32, height: u32, channels: u32, depth: Depth) -> Option<Layout> {
        // Cannot overflow: two factors of 32 bits, one of 3.
        let row_len = u64::from(width) * u64::from(channels);
        let samples = row_len.checked_mul(height.into())?;
        let fits = (1..=MAX_SAMPLES).contains(&samples) && (1..=4).contains(&channels);
        fits.then_some(Layout { width, height, channels, depth })
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Samples of a pixel.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Bits of a sample.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Samples in a row.
    pub fn row_len(&self) -> u32 {
        self.width * self.channels
    }

    /// Samples in the picture.
    pub fn samples(&self) -> usize {
        self.row_len() as usize * self.height as usize
    }

    /// What the channels mean.
    pub fn color_name(&self) -> &'static str {
        match self.channels {
            1 => "gray",
            2 => "gray and alpha",
            3 => "RGB",
            _ => "RGBA",
        }
    }
}
