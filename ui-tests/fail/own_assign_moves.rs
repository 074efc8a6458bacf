// Rule: a second name for a buffer is a move, not an alias.
// Instead: go on with the new name, or `into_shared()` for two read-only handles.
//~ E0382
//~ right: pass/ownership.rs
use escrow::HostBuffer;

fn user(host: HostBuffer<f32>) {
    let mut other = host;
    other[0] = 42.0;
    println!("{}", host[0]);
}

fn main() {}
