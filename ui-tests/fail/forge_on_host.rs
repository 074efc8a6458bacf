// Rule: nobody says of memory in flight that it is the host's.
// Instead: a wait.
//~ E0117
//~ right: pass/flight.rs
use escrow::{DType, HostBuffer, InFlight, OnHost};

escrow::streams! { Tag }

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Mine(f32);

impl OnHost for InFlight<HostBuffer<f32, Tag>> {} //~ E0117
impl OnHost for InFlight<HostBuffer<Mine>> {} //~ E0117
impl OnHost for InFlight<HostBuffer<Mine, Tag>> {} //~ E0117
impl OnHost for Option<InFlight<HostBuffer<Mine, Tag>>> {} //~ E0117

fn main() {}
