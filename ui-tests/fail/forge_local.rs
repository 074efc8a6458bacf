// Rule: exposed memory does not become local by a word.
// Instead: `job.barrier_all(open)?`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::Local;

struct Mine;

impl Local for Mine {} //~ E0277

fn main() {}
