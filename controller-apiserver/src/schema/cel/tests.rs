//! Expressions as rules use them.

use serde_json::{Value as Json, json};

use super::eval::{Budget, Failure, Machine};
use super::*;
use kube_cel::cel::Value as Cel;

fn node(schema: &Json) -> Node {
    Node::read(schema)
}

fn eval(schema: &Json, object: &Json, source: &str) -> Result<Cel, Failure> {
    let node = node(schema);
    let program = Program::parse(source).map_err(Failure::Error)?;
    let mut budget = Budget(100_000);
    let variables = vec![("self".to_owned(), bind::bind(object, &node, false))];
    Machine {
        variables,
        budget: &mut budget,
    }
    .eval(&program.expr)
}

/// The result of an expression without variables.
fn value(source: &str) -> Result<Cel, Failure> {
    eval(&json!({"type": "object"}), &json!({}), source)
}

fn holds(source: &str) -> bool {
    match value(source) {
        Ok(Cel::Bool(value)) => value,
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn the_language_means_what_it_means_elsewhere() {
    for source in [
        "1 + 2 * 3 == 7",
        "(1 + 2) * 3 == 9",
        "10 - 2 - 3 == 5",
        "7 / 2 == 3 && -7 / 2 == -3 && 7 % 4 == 3 && -7 % 4 == -3",
        "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2",
        "1 == 1.0 && 1u == 1 && 1 < 1.5",
        "'a' + 'b' == 'ab' && 'a' < 'b'",
        "[1, 2] + [3] == [1, 2, 3]",
        "2 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': 1}",
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1",
        "[1, 2, 3][1] == 2",
        "true ? true : 1/0 == 1",
        "!false && !!true",
        "false && 1/0 == 1 ? false : true",
        "1/0 == 1 || true",
        "!(1/0 == 1 && false)",
        "size('äöü') == 3 && 'abc'.size() == 3 && size([1]) == 1 && size({'a': 1}) == 1",
        "r'\\d' == '\\\\d' && 'it\\'s' == \"it's\" && '\\u00e4' == 'ä' && '''a'b''' == \"a'b\"",
        "b'ab' == b'ab' && bytes('ab') == b'ab' && size(b'\\xff') == 1",
        "0xff == 255 && 1e3 == 1000.0 && -9223372036854775808 < 0",
        "'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b') && 'abc'.matches('^a.c$')",
        "int('5') == 5 && string(5) == '5' && double('1.5') == 1.5 && uint(3) == 3u && bool('true')",
        "type(1) == int && type('a') == string && type([]) == list && type(null) == null_type",
        "null == null && dyn(1) != null",
        "// a comment\n true",
    ] {
        assert!(holds(source), "{source}");
    }
}

#[test]
fn macros_and_extensions_work() {
    for source in [
        "[1, 2, 3].all(x, x > 0) && ![1, 2].all(x, x > 1)",
        "[1, 2].exists(x, x == 2) && ![1].exists(x, x == 2)",
        "[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].existsOne(x, x == 2)",
        "[1, 2, 3].filter(x, x > 1) == [2, 3] && [1, 2].map(x, x * 2) == [2, 4]",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "{'a': 1, 'b': 2}.all(k, k in ['a', 'b']) && {'a': 1}.map(k, k) == ['a']",
        "[1, 2].all(x, [3, 4].all(y, x < y))",
        "[0, 1].all(i, v, i == v) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "['a', 'b'].transformList(i, v, i) == [0, 1] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "['a'].transformMapEntry(i, v, {v: i}) == {'a': 0}",
        "[3, 1, 2].sortBy(x, -x) == [3, 2, 1] && [3, 1, 2].sort() == [1, 2, 3]",
        "cel.bind(x, 1 + 1, x * x) == 4",
        "[1/0 == 1, true].exists(x, x) == false || true",
        "optional.of(1).hasValue() && optional.none().orValue(2) == 2 && optional.of(1).value() == 1",
        "{'a': 1}.?a.orValue(0) == 1 && {'a': 1}.?b.orValue(0) == 0 && {'a': 1}[?'b'].hasValue() == false",
        "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().optMap(x, x + 1).hasValue()",
        "[?optional.none(), 1] == [1] && {?'a': optional.of(1)} == {'a': 1}",
        "'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && 'abc'.replace('b', 'x') == 'axc'",
        "'ABC'.lowerAscii() == 'abc' && ' a '.trim() == 'a' && 'abc'.substring(1) == 'bc' && 'abc'.charAt(1) == 'b'",
        "'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3 && 'a%s'.format(['b']) == 'ab'",
        "[1, 2, 1].distinct() == [1, 2] && [1, 2].sum() == 3 && [1, 2].max() == 2 && [1, 2].isSorted()",
        "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1, 2], [2, 1])",
        "lists.range(3) == [0, 1, 2] && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1'.find('[0-9]') == '1'",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && isQuantity('5m') && !isQuantity('x')",
        "ip('127.0.0.1').isLoopback() && isIP('::1') && cidr('10.0.0.0/8').containsIP('10.1.2.3') && isCIDR('::/0')",
        "url('https://a.example:80/b?c=d').getHost() == 'a.example:80' && isURL('https://a/') && !isURL('..')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').major() == 1",
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
        "math.greatest(1, 2) == 2 && math.least([3, 1]) == 1 && math.abs(-2) == 2",
        "duration('1h') > duration('59m') && timestamp('2024-01-02T03:04:05Z').getFullYear() == 2024",
        "base64.decode(base64.encode(b'ab')) == b'ab'",
    ] {
        assert!(holds(source), "{source}");
    }
}

#[test]
fn failures_say_what_failed() {
    for (source, text) in [
        ("1/0 == 1", "division by zero"),
        ("1%0 == 1", "modulus by zero"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ("{'a': 1}.b == 1", "no such key: b"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("dyn('a') + 1 == 2", "no such overload"),
        ("optional.none().value() == 1", "optional.none() dereference"),
    ] {
        assert_eq!(
            value(source).map(|_| ()),
            Err(Failure::Error(text.to_owned())),
            "{source}"
        );
    }
}

#[test]
fn a_rule_sees_what_its_schema_says() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "number"}, "nil": {"type": "string", "nullable": true}, "a-b": {"type": "string"},
        "at": {"type": "string", "format": "date-time"}, "for": {"type": "string", "format": "duration"},
        "raw": {"type": "string", "format": "byte"},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
    }});
    let object = json!({
        "n": 1, "nil": null, "a-b": "x", "at": "2024-01-02T03:04:05Z", "for": "90m", "raw": "YWI=",
        "m": {"k-1": 1}, "unknown": true,
    });
    for source in [
        "self.n == 1.0 && type(self.n) == double",
        "!has(self.nil)",
        "self.a__dash__b == 'x'",
        "self.at.getHours() == 3",
        "self.__for__ == duration('1h30m')",
        "self.raw == b'ab'",
        "self.m['k-1'] == 1 && self.m.all(k, self.m[k] == 1)",
        "!has(self.unknown)",
    ] {
        assert_eq!(eval(&schema, &object, source), Ok(Cel::Bool(true)), "{source}");
    }
}

#[test]
fn a_rule_that_can_never_work_is_refused() {
    let schema = node(&json!({"type": "object", "properties": {
        "i": {"type": "integer"}, "s": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}},
        "x": {"x-kubernetes-int-or-string": true}, "any": {"x-kubernetes-preserve-unknown-fields": true},
        "o": {"type": "object", "properties": {"p": {"type": "boolean"}}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
    }}));
    let verdict = |source| check(source, Wanted::Bool, &schema, true, false).error;
    for source in [
        "self.i > 1",
        "self.s == 'a'",
        "self.l.all(x, x != '')",
        "self.x == 1 || self.x == 'a'",
        "self.o.p",
        "has(self.o.p)",
        "self.m.all(k, self.m[k] > 0)",
        "self.metadata.name != ''",
        "self.kind == 'A'",
        "oldSelf.i <= self.i",
        "self.l.map(x, size(x)).sum() > 1",
        "self.s in ['a']",
        "has(self.i) ? self.i > 0 : true",
        "self.l[0].startsWith('a')",
        "quantity(self.s).isLessThan(quantity('1'))",
        "self.i > 0.5",
        "cel.bind(v, self.i, v > 1)",
        "size(self.l) == 0",
        "self.l.exists_one(v, v == self.s)",
        "self.o == oldSelf.o",
    ] {
        assert_eq!(verdict(source), None, "{source}");
    }
    for (source, part) in [
        ("self.y > 1", "undefined field 'y'"),
        ("self.o.q", "undefined field 'q'"),
        ("self.any == 1", "undefined field 'any'"),
        ("self.metadata.labels == null", "undefined field 'labels'"),
        ("other > 1", "undeclared reference to 'other'"),
        ("self.s.nonsense()", "undeclared reference to 'nonsense'"),
        ("self.i.startsWith('a')", "no matching overload for 'startsWith'"),
        (
            "self.i == 'a'",
            "no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("self.s > 1", "no matching overload for '_>_'"),
        ("self.s && true", "no matching overload for '_&&_'"),
        ("self.i", "cel expression must evaluate to a bool"),
        ("self.s", "cel expression must evaluate to a bool"),
        ("self.i.foo == 1", "does not support field selection"),
        ("self.i.all(x, x)", "cannot be range of a comprehension"),
        ("self.i >", "Syntax error"),
        ("self.i > 1)", "Syntax error"),
        ("'a", "unterminated string literal"),
        ("self.namespace == 'a'", "undefined field 'namespace'"),
        ("Foo{a: 1} == 1", "undeclared reference to 'Foo'"),
    ] {
        let error = verdict(source).unwrap_or_else(|| panic!("{source} was accepted"));
        assert!(error.contains(part), "{source}: {error}");
    }
}

#[test]
fn nothing_takes_more_than_the_budget() {
    let object = json!({"l": vec![1; 1000], "s": "x".repeat(100_000)});
    let schema = json!({"type": "object", "properties": {
        "l": {"type": "array", "items": {"type": "integer"}}, "s": {"type": "string"},
    }});
    for source in [
        "self.l.all(a, self.l.all(b, self.l.all(c, a == b)))",
        "self.l.map(a, self.l).map(b, b + b).size() > 0",
        "lists.range(1000000000000).size() > 0",
        "self.l.map(a, self.s + self.s).join('').size() > 0",
        "self.s.replace('', self.s).size() > 0",
        "self.l.map(a, self.l.map(b, self.l)).flatten().size() > 0",
    ] {
        assert_eq!(eval(&schema, &object, source), Err(Failure::Budget), "{source}");
    }
}

#[test]
fn hostile_text_is_refused_without_harm() {
    let many = |part: &str| part.repeat(20_000);
    for source in [
        format!("{}1", many("(")),
        format!("{}1{}", many("["), many("]")),
        format!("1{}", many("+1")),
        format!("{}true", many("!")),
        format!("self{}", many(".a")),
        format!("self{}", many("[0]")),
        format!("{}1", many("true?1:")),
        format!("{}1", many("-")),
        "x".repeat(200_000),
        "\"".to_owned(),
        "\\".to_owned(),
        "'\\".to_owned(),
        "'\\x".to_owned(),
        "'\\xä'".to_owned(),
        "0x".to_owned(),
        "1.".to_owned(),
        ".".to_owned(),
        "`".to_owned(),
        "99999999999999999999".to_owned(),
        "ä".to_owned(),
    ] {
        let _ = Program::parse(&source).map(|program| {
            let mut budget = Budget(100_000);
            let _ = Machine {
                variables: Vec::new(),
                budget: &mut budget,
            }
            .eval(&program.expr);
        });
    }
    for source in [
        "quantity('1e30').add(quantity('1e-30')) == quantity('1')",
        "'%.99999999f'.format([1.0]) == ''",
        "math.bitShiftLeft(1, 100) == 0",
        "[9223372036854775807, 1].sum() == 0",
        "duration('999999999999h') == duration('1h')",
    ] {
        let _ = value(source);
    }
}
