// Rule: nobody else says where a struct of spans can be passed.
// Instead: `#[derive(DevicePassable)]` says it, by the tags of its spans.
//~ E0277
//~ right: pass/kernels.rs
use escrow::__private::{ArgCheck, Visit};
use escrow::{DevicePassable, DeviceSpan, Error};

escrow::streams! { Upload, Compute }

#[derive(DevicePassable)]
struct Params<'a> {
    src: DeviceSpan<'a, f32, Upload>,
}

impl Visit<Compute> for Params<'_> {
    fn show(&self, _: &mut ArgCheck<'_, Compute>) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
