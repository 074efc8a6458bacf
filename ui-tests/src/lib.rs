//! The rules that the compiler enforces, as programs.
//!
//! - `fail/RULE.rs` breaks one rule; `fail/RULE.stderr` is what the compiler says to that.
//! - `pass/GROUP.rs` does the same things the right way, and is run.
//! - `rules.txt` lists them all. It is generated.
//!
//! A program in `fail` begins with the rule and what to do instead, then says which errors it ends in (`-` is an error
//! without a code) and where the right way is:
//!
//! ```text
//! // Rule: memory in flight cannot be read.
//! // Instead: wait first, `let host = ctx.synchronize(host)?;`.
//! //~ E0277
//! //~ right: pass/flight.rs
//! ```
//!
//! A `//~ E0277` behind code says that this very line is refused, for programs that try several things.
//!
//! After a change of messages, run `TRYBUILD=overwrite cargo test -p escrow-ui-tests`, read the difference of the
//! `.stderr` files as somebody who never saw the library would, and run the tests again.
