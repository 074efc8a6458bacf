// Rule: the elements of device memory are not printed.
// Instead: `println!("{:?}", dev.to_vec()?)`. (`{:?}` of the buffer prints its type and length.)
//~ E0277
//~ right: pass/types.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    println!("{dev}");
}

fn main() {}
