// Rule: a host buffer is not written while a slice of it lives.
// Instead: write it before, or take the slice again after.
//~ E0502
//~ right: pass/spans.rs
use escrow::HostBuffer;

fn user(mut host: HostBuffer<f32>) {
    let head = &host.as_span()[..4];
    host[0] = 3.0;
    println!("{}", head[0]);
}

fn main() {}
