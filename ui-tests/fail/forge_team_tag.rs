// Rule: a team tag is a name and nothing else: who makes one has no team.
// Instead: split a team, `job.world().split_strided(Mine, 0, 1, 2)?`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Pe, ShmemContext, TeamTag};

#[derive(Clone, Copy)]
struct Mine;

impl TeamTag for Mine {
    const NAME: &'static str = "Mine";
}

fn user(job: &ShmemContext) -> Pe<'_, Mine> {
    job.me()
}

fn main() {}
