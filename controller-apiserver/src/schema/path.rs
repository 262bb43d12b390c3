//! Paths of fields, as the API server writes them in causes and warnings.
//!
//! A path is a linked list on the stack of the walk: nothing is allocated until it is written.

use std::fmt;

/// Where in an object, or in a schema, a walk stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path<'a> {
    /// The object itself; written `<nil>`.
    Root,
    /// A prefix, such as `spec.validation.openAPIV3Schema`.
    Base(&'a str),
    /// A member: `.name`.
    Child(&'a Path<'a>, &'a str),
    /// A key of a map: `[key]`.
    Key(&'a Path<'a>, &'a str),
    /// An element: `[0]`.
    Index(&'a Path<'a>, usize),
    /// A whole relative path below another one, already written: `.spec.names[0]`.
    Below(&'a Path<'a>, &'a str),
}

impl Path<'_> {
    /// A member of this.
    pub(crate) fn child<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path::Child(self, name)
    }

    /// A key of this map.
    pub(crate) fn key<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path::Key(self, name)
    }

    /// An element of this list.
    pub(crate) fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }

    /// True for the object itself.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self, Path::Root | Path::Below(Path::Root, ""))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Base(base) => f.write_str(base),
            Path::Child(Path::Root, name) => f.write_str(name),
            Path::Child(parent, name) => {
                parent.write(f)?;
                write!(f, ".{name}")
            }
            Path::Key(parent, name) => {
                parent.write(f)?;
                write!(f, "[{name}]")
            }
            Path::Index(parent, index) => {
                parent.write(f)?;
                write!(f, "[{index}]")
            }
            Path::Below(Path::Root, relative) => f.write_str(relative.strip_prefix('.').unwrap_or(relative)),
            Path::Below(parent, relative) => {
                parent.write(f)?;
                f.write_str(relative)
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("<nil>");
        }
        self.write(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_the_server_writes_it() {
        let spec = Path::Root.child("spec");
        let ports = spec.child("ports");
        let first = ports.index(0);
        assert_eq!(first.child("name").to_string(), "spec.ports[0].name");
        assert_eq!(spec.key("a.b").to_string(), "spec[a.b]");
        assert_eq!(Path::Root.to_string(), "<nil>");
        assert_eq!(Path::Below(&Path::Root, "").to_string(), "<nil>");
        assert_eq!(Path::Below(&Path::Root, ".a.b").to_string(), "a.b");
        assert_eq!(
            Path::Below(&Path::Base("x"), ".a").child("c").to_string(),
            "x.a.c"
        );
    }
}
