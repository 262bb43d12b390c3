//! The order of resourceVersions.

use std::cmp::Ordering;

/// Compares two resourceVersions of one kind; `None` when they are not both numbers.
///
/// A conforming server's are (KEP-5504); for any other nothing is known but whether they are equal.
pub(crate) fn compare(one: &str, other: &str) -> Option<Ordering> {
    if one == other {
        return Some(Ordering::Equal);
    }
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !number(one) || !number(other) {
        return None;
    }
    let (one, other) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
    Some(one.len().cmp(&other.len()).then_with(|| one.cmp(other)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_compare_as_numbers(one: u64, other: u64) {
            prop_assert_eq!(compare(&one.to_string(), &other.to_string()), Some(one.cmp(&other)));
        }

        #[test]
        fn no_text_panics(one: String, other: String) {
            prop_assert_eq!(compare(&one, &other).map(Ordering::reverse), compare(&other, &one));
        }
    }

    #[test]
    fn what_is_no_number_is_only_equal_to_itself() {
        assert_eq!(compare("abc", "abc"), Some(Ordering::Equal));
        assert_eq!(compare("abc", "5"), None);
        assert_eq!(compare("", "5"), None);
        assert_eq!(
            compare("99999999999999999999998", "99999999999999999999999"),
            Some(Ordering::Less)
        );
    }
}
