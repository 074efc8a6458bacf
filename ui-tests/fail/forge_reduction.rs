// Rule: reductions are those that all engines have.
// Instead: `fcollect` the values, and combine them in a kernel.
//~ E0277
//~ right: pass/shmem.rs
use escrow::Reduction;

#[derive(Clone, Copy)]
struct First;

impl Reduction<f32> for First { //~ E0277
    const NUMBER: u64 = 1;
    const NAME: &'static str = "first";
    const ELEM: &'static str = "float";
    fn apply(a: f32, _: f32) -> f32 {
        a
    }
}

fn main() {}
