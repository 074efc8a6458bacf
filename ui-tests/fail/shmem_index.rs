// Rule: the host does not index symmetric memory.
// Instead: `table.to_vec()?[0]`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::ShmemBuffer;

fn user(table: &ShmemBuffer<'_, f32>) -> f32 {
    table[0]
}

fn main() {}
