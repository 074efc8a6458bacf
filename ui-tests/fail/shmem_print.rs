// Rule: the elements of symmetric memory are not printed.
// Instead: `println!("{:?}", table.to_vec()?)`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::ShmemBuffer;

fn user(table: &ShmemBuffer<'_, f32>) {
    println!("{table}");
}

fn main() {}
