// Rule: a wait gives back what was in flight, and nothing else.
// Instead: put `InFlight` values into tuples, arrays, `Vec`s and `Option`s.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceContext, Flight, HostBuffer, InFlight, StreamTag};

escrow::streams! { Tag }

struct Mine(InFlight<HostBuffer<f32, Tag>>);

impl Flight<Tag> for Mine { //~ E0277
    type Landed = HostBuffer<f32, Tag>;
    fn is_on(&self, _: &DeviceContext<Tag>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn land(self) -> Self::Landed {
        loop {}
    }
}

impl<S: StreamTag> Flight<S> for Tag { //~ E0277
    type Landed = ();
    fn is_on(&self, _: &DeviceContext<S>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        true
    }
    unsafe fn land(self) {}
}

fn main() {}
