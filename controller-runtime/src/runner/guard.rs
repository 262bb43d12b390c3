//! Keeps a panic of user code where it happened.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Calls user code; a panic becomes its message.
///
/// What the code shares with the rest of the user's program may be half changed after a panic; that is the user's, as
/// it is when a task of their own panics. Nothing of the runtime is reachable from inside.
pub(crate) fn guard<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| message(payload.as_ref()))
}

/// What a panic said.
pub(super) fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        let number = 7;
        assert_eq!(guard(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
        assert_eq!(
            guard(|| panic!("formatted {number}")),
            Err::<(), _>("formatted 7".to_owned())
        );
        assert_eq!(guard(|| number), Ok(7));
    }
}
