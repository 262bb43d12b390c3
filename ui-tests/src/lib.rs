//! What users of `#[controller]` read when something is wrong. All of it is in `tests/ui.rs` and `ui/`.
