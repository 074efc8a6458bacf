//! Symmetric memory over several PEs: starting a job, and the words of its signals and reductions.
//!
//! [`launch`] is the way in; the job itself is [`ShmemContext`](crate::ShmemContext).

mod atomics;
mod buffer;
mod card;
mod context;
mod engine;
mod exposed;
mod heap;
mod launch;
mod local;
#[cfg(feature = "cuda")]
mod nvshmem;
#[cfg(unix)]
mod openshmem;
mod pe;
mod peer;
mod phase;
mod reduction;
mod rma;
mod signal;
mod team;
mod transport;
mod wire;
mod worker;

pub use atomics::{AtomicElem, Atomics};
pub use buffer::ShmemBuffer;
pub use context::ShmemContext;
pub use exposed::{Exposed, ExposedSpan, Local, Remote};
pub(crate) use launch::announce_panic;
pub use launch::{launch, launch_on};
#[cfg(feature = "cuda")]
pub(crate) use nvshmem::job_on_gpu;
pub use pe::Pe;
pub use peer::{KernelPeer, PeerSpan};
pub use phase::Flip;
pub use reduction::{And, Max, Min, Or, Prod, Reduction, Sum, Xor};
pub use signal::{Add, Cmp, Set, Signal, SignalKind};
pub use team::{Node, Team, TeamTag, World};
