//! The names of a new project, checked before a file is written.

mod check;
mod spell;

pub(crate) use check::{
    group as check_group, is_keyword, operator as check_operator, operator_like, package as check_package,
    reserved,
};
pub(crate) use spell::{camel, snake};

/// What a project is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// The package: `my-website`.
    pub(crate) package: String,
    /// The kind that it brings; `None` for one that only works with kinds of others.
    pub(crate) kind: Option<Kind>,
}

/// A kind of one's own, in every spelling that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The kind: `Website`.
    pub(crate) name: String,
    /// The API group: `example.com`.
    pub(crate) group: String,
    /// The version: `v1`.
    pub(crate) version: String,
    /// The plural that the API server knows: `websites`.
    pub(crate) plural: String,
}

/// What the user gave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Option<&'a str>,
    pub(crate) group: Option<&'a str>,
    pub(crate) version: Option<&'a str>,
    pub(crate) plural: Option<&'a str>,
}

impl Names {
    /// # Errors
    /// The text says which name cannot be used, why, and what could be.
    pub(crate) fn choose(wish: Wish<'_>) -> Result<Self, String> {
        Ok(Self {
            package: check::package(wish.name)?,
            kind: Some(Kind::choose(wish)?),
        })
    }

    /// The names of a project that brings no kind.
    ///
    /// # Errors
    /// As [`Self::choose`]; also when something about a kind was given.
    pub(crate) fn without_kind(wish: Wish<'_>) -> Result<Self, String> {
        let given = [
            ("--kind", wish.kind),
            ("--group", wish.group),
            ("--version", wish.version),
            ("--plural", wish.plural),
        ];
        if let Some((option, _)) = given.iter().find(|(_, value)| value.is_some()) {
            return Err(format!(
                "{option} is of no use here: this template brings no kind of its own; --list shows those that do"
            ));
        }
        Ok(Self {
            package: check::package(wish.name)?,
            kind: None,
        })
    }

    /// Several of what it is about, for people.
    pub(crate) fn about(&self) -> String {
        self.kind
            .as_ref()
            .map_or_else(|| self.package.clone(), Kind::kinds)
    }
}

impl Kind {
    /// # Errors
    /// The text says which name cannot be used, why, and what could be.
    pub(crate) fn choose(wish: Wish<'_>) -> Result<Self, String> {
        let name = match wish.kind {
            Some(kind) => kind.to_owned(),
            None => from_package(wish.name),
        };
        check::kind(&name)?;
        let group = wish.group.unwrap_or(PLACEHOLDER);
        check::group(group)?;
        let version = wish.version.unwrap_or("v1");
        check::version(version)?;
        let plural = match wish.plural {
            Some(plural) => plural.to_owned(),
            None => spell::pluralize(&name.to_lowercase()),
        };
        check::plural(&plural)?;
        check::definition(&plural, group)?;
        Ok(Self {
            name,
            group: group.to_owned(),
            version: version.to_owned(),
            plural,
        })
    }

    /// The kind as the API server writes it in lower case: `website`.
    pub(crate) fn singular(&self) -> String {
        self.name.to_lowercase()
    }

    /// Several of them, for people: `Websites`.
    pub(crate) fn kinds(&self) -> String {
        match self.plural.strip_prefix(&self.singular()) {
            Some(ending) => format!("{}{ending}", self.name),
            None => self.plural_of_other_stem(),
        }
    }

    /// `Policies` of `Policy` and `NetworkPolicies` of `NetworkPolicy`: the capitals of what is common stay.
    fn plural_of_other_stem(&self) -> String {
        let singular = self.singular();
        let common = singular
            .bytes()
            .zip(self.plural.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        if common == 0 {
            return camel(&self.plural);
        }
        format!("{}{}", &self.name[..common], camel_tail(&self.plural[common..]))
    }

    /// Spelled with dashes: `http-route`.
    pub(crate) fn kebab(&self) -> String {
        snake(&self.name).replace('_', "-")
    }

    /// A file's or a module's name: `http_route`, and `type_` for a keyword.
    pub(crate) fn module(&self) -> String {
        let name = snake(&self.name);
        if is_keyword(&name) {
            format!("{name}_")
        } else {
            name
        }
    }
}

/// Kinds to propose for a package: that of its name, and one beside it where that is taken.
pub(crate) fn proposed_kinds(package: &str) -> [String; 2] {
    let kind = from_package(package);
    let beside = format!("My{kind}");
    [kind, beside]
}

/// The group that belongs to nobody, which examples use.
pub(crate) const PLACEHOLDER: &str = "example.com";

/// `website-operator` is about the kind `Website`.
fn from_package(name: &str) -> String {
    let stem = ["-operator", "_operator", "-controller", "_controller"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    camel(stem)
}

/// What follows a common beginning: words after dashes get capitals.
fn camel_tail(tail: &str) -> String {
    let (first, rest) = tail.split_once('-').unwrap_or((tail, ""));
    format!("{first}{}", camel(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(name: &str) -> Wish<'_> {
        Wish {
            name,
            ..Wish::default()
        }
    }

    fn kind(name: &str) -> Kind {
        Kind::choose(wish(name)).unwrap()
    }

    /// kubernetes-sigs/kubebuilder#1993, #3784 and #153, operator-framework/operator-sdk#2620: plurals, capitals, keywords.
    #[test]
    fn odd_kinds_have_every_spelling() {
        for (name, plural, kinds, module, modules) in [
            ("Website", "websites", "Websites", "website", "websites"),
            (
                "FunctionBuild",
                "functionbuilds",
                "FunctionBuilds",
                "function_build",
                "function_builds",
            ),
            ("DNS", "dnses", "DNSes", "dns", "dnses"),
            ("Redis", "redises", "Redises", "redis", "redises"),
            ("Ingress", "ingresses", "Ingresses", "ingress", "ingresses"),
            ("Policy", "policies", "Policies", "policy", "policies"),
            (
                "NetworkPolicy",
                "networkpolicies",
                "NetworkPolicies",
                "network_policy",
                "network_policies",
            ),
            ("Gateway", "gateways", "Gateways", "gateway", "gateways"),
            ("Metadata", "metadatas", "Metadatas", "metadata", "metadatas"),
            ("Type", "types", "Types", "type_", "types"),
            ("Match", "matches", "Matches", "match_", "matches"),
            ("X", "xes", "Xes", "x", "xes"),
            (
                "HTTPRoute",
                "httproutes",
                "HTTPRoutes",
                "http_route",
                "http_routes",
            ),
            ("MyBox", "myboxes", "MyBoxes", "my_box", "my_boxes"),
        ] {
            let kind = kind(name);
            assert_eq!((kind.plural.as_str(), kind.kinds().as_str()), (plural, kinds));
            assert_eq!(kind.module(), module);
            assert_eq!(snake(&kind.kinds()), modules);
        }
    }

    #[test]
    fn the_kind_follows_from_the_name() {
        assert_eq!(kind("my-website").name, "MyWebsite");
        assert_eq!(kind("redis").name, "Redis");
        assert_eq!(kind("website-operator").name, "Website");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        let refused = |wish| Names::choose(wish).unwrap_err();
        assert!(refused(wish("9lives")).contains("begin with a letter"));
        assert!(refused(wish("type")).contains("choose type-operator"));
        let kind = |kind| Wish {
            kind: Some(kind),
            ..wish("op")
        };
        assert!(refused(kind("my-site")).ends_with("choose --kind MySite"));
        assert!(refused(kind("site")).ends_with("choose --kind Site"));
        assert!(refused(kind("Option")).ends_with("choose --kind MyOption"));
        assert!(refused(kind("Store")).ends_with("choose --kind MyStore"));
        let group = |group| Wish {
            group: Some(group),
            ..wish("op")
        };
        assert!(refused(group("example")).contains("such as example.com"));
        assert!(refused(group("Example.com")).contains("in lower case"));
        assert!(refused(group("apps.k8s.io")).contains("kept for the Kubernetes project"));
        let version = Wish {
            version: Some("1"),
            ..wish("op")
        };
        assert!(refused(version).contains("v1beta1"));
        let plural = Wish {
            plural: Some("Sites"),
            ..wish("op")
        };
        assert!(refused(plural).contains("--plural"));
        assert!(Names::without_kind(wish("op")).is_ok());
        let error = Names::without_kind(group("acme.io")).unwrap_err();
        assert!(error.starts_with("--group is of no use here"), "{error}");
    }
}
