//! A parsed CEL expression, with its macros expanded into nodes of their own.

use kube_cel::cel::Value;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// A constant.
    Literal(Value),
    /// A variable, or the first part of a qualified function name.
    Name(String),
    /// `a.b`, or `a.?b`.
    Select(Box<Expr>, String, Access),
    /// `has(a.b)`.
    Has(Box<Expr>, String),
    /// `a[b]`, or `a[?b]`.
    Index(Box<Expr>, Box<Expr>, Access),
    /// `f(x)`; qualified names are whole: `lists.range`.
    Call(String, Vec<Expr>),
    /// `a.f(x)`.
    Method(Box<Expr>, String, Vec<Expr>),
    /// `[a, ?b]`.
    List(Vec<(Expr, Access)>),
    /// `{a: b, ?c: d}`.
    Map(Vec<(Expr, Expr, Access)>),
    /// `!a` or `-a`.
    Unary(Unary, Box<Expr>),
    /// `a + b - c`, or one comparison: a chain, so that long ones do not nest.
    Chain(Box<Expr>, Vec<(Binary, Expr)>),
    /// `a && b && c`.
    And(Vec<Expr>),
    /// `a || b || c`.
    Or(Vec<Expr>),
    /// `a ? b : c`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A macro over a range.
    Fold(Box<Fold>),
    /// `cel.bind(name, value, body)`.
    Bind(String, Box<Expr>, Box<Expr>),
    /// `a.optMap(name, body)`, or `optFlatMap`.
    OptMap {
        target: Box<Expr>,
        name: String,
        body: Box<Expr>,
        flat: bool,
    },
}

/// How a missing member is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It is an error.
    Plain,
    /// It is an empty optional.
    Optional,
}

/// A macro over a range.
#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Expr,
    /// The names of the variables: of the element, or of the index or key and the value.
    pub(super) names: Vec<String>,
    /// The condition of `map` and the `transform…` with three parts.
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

/// What a macro over a range makes of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    TransformMap,
    TransformMapEntry,
    SortBy,
}

/// An operator before one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Negate,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Different,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
}
