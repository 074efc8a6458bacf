// Rule: only `launch` starts a job.
// Instead: `shmem::launch(pes, |job| ..)`.
//~ E0624
//~ right: pass/shmem.rs
use escrow::ShmemContext;

fn user() {
    let start = ShmemContext::<escrow::Dyn>::new;
}

fn main() {}
