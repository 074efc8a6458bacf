//! Tokens to experts and back, as the layers of a mixture-of-experts model do it, over the PEs of a SHMEM job.
//!
//! Each PE has a share of the tokens and a share of the experts. A token goes to two experts, wherever they are; what they
//! make of it comes back and is added up. What is worth copying lies in [`exchange`](run): memory with a slot for each
//! source, puts that carry a signal, and a wait that lets the receiver's stream go on when all sources have sent.

mod exchange;
mod experts;
mod tokens;

pub use exchange::{Plan, Report, run};
pub use experts::{ExpertKernels, Experts};
pub use tokens::{Route, Token, hash_words};
