// Rule: a stream tag is a value that can be copied, sent and kept.
// Instead: `escrow::streams! { Mine }`.
//~ E0277
//~ right: pass/streams.rs
use escrow::StreamTag;

struct Mine<'a>(&'a str);

impl StreamTag for Mine<'_> { //~ E0277
    const NAME: &'static str = "Mine";
}

fn main() {}
