//! A separable Gaussian blur of PNG pictures, as a pipeline of strips over two streams.
//!
//! What is worth copying lies in [`pipeline`](Blur): pieces of one pinned buffer travel from stream to stream with the
//! device memory that belongs to them, several strips are on their way at a time, and each comes back by itself. The
//! kernels lie in `kernels.rs`; the rest is what any program does with files.
//!
//! ```
//! use escrow::Device;
//! use escrow_examples::blur::{Blur, Depth, Gaussian, Layout};
//!
//! let blur = Blur::new(&Device::cpu())?;
//! let layout = Layout::new(3, 1, 1, Depth::Eight).expect("3 x 1 gray samples are few");
//! let mut picture = blur.create_picture(&layout)?;
//! picture.copy_from_slice(&[0, 200, 0]);
//! let picture = blur.run(picture, &layout, &Gaussian::new(0.5)?, 1, |_rows| {})?;
//! assert_eq!(picture.as_span(), [21, 157, 21]);
//! # Ok::<(), escrow_examples::blur::BlurError>(())
//! ```

mod error;
mod gaussian;
mod kernels;
mod layout;
mod output;
mod passes;
mod picture;
mod pipeline;

pub use error::BlurError;
pub use gaussian::{Gaussian, MAX_SIGMA};
pub use kernels::BlurKernels;
pub use layout::{Depth, Layout};
pub use output::Output;
pub use picture::{PictureFile, write_picture};
pub use pipeline::{Blur, Columns, Rows};
