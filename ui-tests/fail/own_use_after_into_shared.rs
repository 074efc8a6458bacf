// Rule: a buffer that became shared cannot be written through its old name.
// Instead: write it before, or `try_unshare` when the last reader is gone.
//~ E0382
//~ right: pass/ownership.rs
use escrow::HostBuffer;

fn user(mut host: HostBuffer<f32>) {
    let shared = host.into_shared();
    host[0] = 1.0;
    println!("{shared}");
}

fn main() {}
