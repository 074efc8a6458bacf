// Rule: a team is named by a tag.
// Instead: declare it, `escrow::teams! { Rows }`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemContext};

struct Rows;

fn user(job: &ShmemContext) -> Result<(), Error> {
    let rows = job.world().split_strided(Rows, 0, 1, 2)?;
    Ok(())
}

fn main() {}
