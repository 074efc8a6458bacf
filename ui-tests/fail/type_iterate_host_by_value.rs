// Rule: a host buffer is iterated over by reference.
// Instead: `for x in &host` or `for x in &mut host`.
//~ E0277
//~ right: pass/types.rs
use escrow::HostBuffer;

fn user(host: HostBuffer<f32>) {
    for x in host {
        println!("{x}");
    }
}

fn main() {}
