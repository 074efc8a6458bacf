//! Programs that must not compile, with their messages; see `tests/`.
