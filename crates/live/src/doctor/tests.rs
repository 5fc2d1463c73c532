use super::*;

#[test]
fn kernel_releases() {
    assert_eq!(parse_release("6.1.0-30-amd64"), Some((6, 1)));
    assert_eq!(parse_release("5.10"), Some((5, 10)));
    assert_eq!(parse_release("x"), None);
}

#[test]
fn every_failed_check_names_its_fix() {
    for check in examine() {
        assert_eq!(
            check.verdict == Verdict::Ok,
            check.fix.is_none(),
            "{check:?}"
        );
        assert!(!check.found.is_empty(), "{check:?}");
    }
}
