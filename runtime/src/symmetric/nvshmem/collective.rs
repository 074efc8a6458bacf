//! Collectives: NVSHMEM's own, and built from puts and barriers where it has none.

use std::ffi::c_int;

use super::raw;
use super::{Gpu, address, done};
use crate::error::{Error, Operation};
use crate::stream::Stream;
use crate::symmetric::engine::{Collective, Reduce, Together, Transfer};
use crate::symmetric::transport::Target;

const OP: Operation = Operation::Collective;

impl Gpu {
    /// # Safety
    /// As for [`Engine::collective`](crate::symmetric::engine::Engine::collective).
    pub(super) unsafe fn collective_by_library(
        &self,
        stream: &Stream,
        call: Together,
        [dst, src]: [Target; 2],
        what: Collective,
    ) -> Result<(), Error> {
        let (team, raw) = (self.team(call.team)?, Gpu::core(stream).raw().cast());
        let (api, unsupported) = (self.api, || self.unsupported(OP, "reduction of this element type"));
        // SAFETY: the caller's duty: the ranges lie in allocations of the heap, as long as the call says for this team, whose
        // PEs are all in this call.
        let code = unsafe {
            let (to, from) = (address(dst.here()), address(src.here()));
            match what {
                Collective::Broadcast { root, bytes } => {
                    let root = (api.translate)(raw::TEAM_WORLD, root as c_int, team);
                    (api.broadcast)(team, to, from, bytes, root, raw)
                }
                Collective::Exchange { bytes, same: true } => (api.fcollect)(team, to, from, bytes, raw),
                Collective::Exchange { bytes, same: false } => (api.alltoall)(team, to, from, bytes, raw),
                Collective::Reduce(Reduce { len, names: [op, elem], .. }) => {
                    let reduce = api.reduction(elem, op, "reduce").ok_or_else(unsupported)?;
                    reduce(team, to, from, len, raw)
                }
                Collective::ReduceScatter(Reduce { len, names: [op, elem], .. }) => {
                    let reduce = api.reduction(elem, op, "reducescatter").ok_or_else(unsupported)?;
                    reduce(team, to, from, len, raw)
                }
            }
        };
        done(OP, code)?;
        // What the others still read of this PE's source must not be changed by what comes next here.
        self.agree(stream, OP, call)
    }

    /// Where PEs share a GPU without MPS, on the world: copies, and reductions on the host, which wait.
    ///
    /// # Safety
    /// As for [`Engine::collective`](crate::symmetric::engine::Engine::collective).
    pub(super) unsafe fn collective_by_puts(
        &self,
        stream: &Stream,
        call: Together,
        [dst, src]: [Target; 2],
        what: Collective,
    ) -> Result<(), Error> {
        self.team(call.team)?; // the world's collectives alone
        let me = self.me();
        // SAFETY: the caller's duty, for all of it.
        unsafe {
            match what {
                Collective::Broadcast { root, bytes } if root == me => {
                    for pe in 0..self.n_pes() {
                        self.put(stream, Transfer { here: src.here(), there: dst, pe }, bytes)?;
                    }
                }
                Collective::Broadcast { .. } => {}
                Collective::Exchange { bytes, same } => {
                    for step in 0..self.n_pes() {
                        let pe = (me + step) % self.n_pes();
                        let part = if same { src } else { src.at(pe * bytes) };
                        self.put(stream, Transfer { here: part.here(), there: dst.at(me * bytes), pe }, bytes)?;
                    }
                }
                Collective::Reduce(reduce) => self.reduce_on_host(stream, dst, src, reduce)?,
                Collective::ReduceScatter(reduce) => {
                    self.reduce_on_host(stream, dst, src.at(me * reduce.len * reduce.size), reduce)?;
                }
            }
        }
        self.agree(stream, OP, call)
    }

    /// Combines all PEs' `src` into this PE's `dst`, in the order of the PEs. **Blocks.**
    ///
    /// # Safety
    /// As for [`Engine::collective`](crate::symmetric::engine::Engine::collective).
    unsafe fn reduce_on_host(&self, stream: &Stream, dst: Target, src: Target, reduce: Reduce) -> Result<(), Error> {
        let core = Gpu::core(stream);
        let piece = super::SCRATCH / reduce.size;
        for start in (0..reduce.len).step_by(piece) {
            let (count, at) = (piece.min(reduce.len - start), start * reduce.size);
            let bytes = count * reduce.size;
            let mut all: Option<Vec<u64>> = None;
            for pe in 0..self.n_pes() {
                // SAFETY: the caller's duty; a piece fits the scratch memory, which the stream alone uses, in its order. Words
                // are aligned for any element that has a reduction.
                unsafe {
                    self.get(stream, Transfer { here: self.scratch.as_ptr(), there: src.at(at), pe }, bytes)?;
                    let theirs = core.read_words(self.scratch.as_ptr(), bytes.div_ceil(8))?;
                    match &mut all {
                        None => all = Some(theirs),
                        Some(all) => (reduce.combine)(all.as_mut_ptr().cast(), theirs.as_ptr().cast(), count),
                    }
                }
            }
            let all = all.unwrap_or_default();
            // SAFETY: as above; then from the scratch memory to this PE's own part of `dst`.
            unsafe {
                core.write_words(self.scratch.as_ptr(), &all)?;
                self.put(stream, Transfer { here: self.scratch.as_ptr(), there: dst.at(at), pe: self.me() }, bytes)?;
            }
        }
        Ok(())
    }
}
