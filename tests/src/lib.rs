//! Integration tests of `escrow`; see `tests/`.
