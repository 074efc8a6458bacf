// Rule: the job owns symmetric memory: its pointer is not taken.
// Instead: `unsafe_ptr()`; the buffer keeps the memory.
//~ E0277
//~ right: pass/shmem.rs
use escrow::ShmemBuffer;

fn user(table: ShmemBuffer<'_, f32>) {
    let ptr = table.take_ptr();
}

fn main() {}
