// Rule: what a value looks like to a kernel is a promise.
// Instead: `#[derive(DevicePassable)]`, which keeps it.
//~ E0200
//~ right: pass/passable.rs
use escrow::DeviceLayout;

#[derive(Clone, Copy)]
struct Mine(*mut f32);

impl DeviceLayout for Mine { //~ E0200
    type DeviceType = *mut f32;
    type Body<'k> = ();
    const TYPE_NAME: &'static str = "Mine";
    const C_NAME: &'static str = "float *";
    unsafe fn to_device(&self) -> *mut f32 {
        self.0
    }
    unsafe fn to_body<'k>(&self) {}
}

fn main() {}
