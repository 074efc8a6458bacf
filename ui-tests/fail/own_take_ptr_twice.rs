// Rule: a pointer is taken once.
// Instead: copy the pointer; it is `Copy`.
//~ E0382
//~ right: pass/ownership.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    let first = dev.take_ptr();
    let second = dev.take_ptr();
    println!("{first:?} {second:?}");
}

fn main() {}
