// Rule: what is passed by value is an element or a `DevicePassable` struct.
// Instead: `&[f32]`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::HostBuffer;

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(table: HostBuffer<f32>, data: &mut [f32]);
}

fn main() {}
