//! Heat in a plate: Jacobi steps over the PEs of a SHMEM job, each with its rows.
//!
//! What is worth copying lies in [`run`]: a step puts the outermost rows into exposed memory of the neighbours, and one
//! barrier makes what came local and exposes what was read, so that two halves of memory and one barrier a step are enough.
//! The kernels lie in `kernels.rs`; the rest is what any program does with files.
//!
//! ```
//! use escrow::shmem;
//! use escrow_examples::heat::{Field, Held, Plan, Plate, run};
//!
//! // A hot edge on the left; everything else is cold.
//! let values = vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
//! let plate = Plate { field: Field::new(3, values), held: Held::Edges };
//! let plan = Plan { steps: 2, ..Plan::default() };
//! let ends = shmem::launch(2, |job| run(job, (job.my_pe() == 0).then_some(&plate), &plan, |_steps, _change| {}))?;
//! let end = ends.into_iter().flatten().next().expect("PE 0 has the result");
//! assert_eq!(end.field.row(1), [1.0, 0.3125, 0.0]);
//! # Ok::<(), escrow::Error>(())
//! ```

mod color;
mod error;
mod field;
mod kernels;
mod npy;
mod solver;
mod stencil;
mod strips;

pub use color::color;
pub use error::HeatError;
pub use field::{Field, Held, Kind, Plate, rows_of_file};
pub use kernels::HeatKernels;
pub use npy::Float;
pub use solver::{End, Plan, run};
pub use stencil::{Rows, step_row};
pub use strips::rows_of;
