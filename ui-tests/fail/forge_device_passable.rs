// Rule: that every span of a value is checked is a promise.
// Instead: `#[derive(DevicePassable)]`, which keeps it.
//~ E0200
//~ right: pass/passable.rs
use escrow::{ArgCheck, DeviceLayout, DevicePassable, Error, StreamTag};

struct Mine;

unsafe impl DeviceLayout for Mine {
    type DeviceType = u32;
    type Body<'k> = u32;
    const TYPE_NAME: &'static str = "Mine";
    const C_NAME: &'static str = "unsigned int";
    unsafe fn to_device(&self) -> u32 {
        0
    }
    unsafe fn to_body<'k>(&self) -> Self::Body<'k> {
        0
    }
}

impl<S: StreamTag> DevicePassable<S> for Mine { //~ E0200
    fn visit(&self, _: &mut ArgCheck<'_, S>) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
