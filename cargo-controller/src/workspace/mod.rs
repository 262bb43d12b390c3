//! The workspace that a package is in: the one whose Cargo.toml stands in a folder above.
//!
//! A package in the folder of a workspace that neither names nor excludes it does not build, so a new one is added to the members.

mod members;

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use toml_edit::{Array, DocumentMut, Item, Value};

use crate::disk;

/// A workspace found on the disk.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its folder.
    pub(crate) root: PathBuf,
    text: String,
    manifest: DocumentMut,
}

impl Workspace {
    /// The nearest one above `folder`, which is absolute, unless it excludes the folder.
    ///
    /// # Errors
    /// When a Cargo.toml on the way cannot be read.
    pub(crate) fn find(folder: &Path) -> Result<Option<Self>, String> {
        for root in folder.ancestors().skip(1) {
            if let Some(found) = Self::read(root)? {
                return Ok((!found.excludes(root, folder)).then_some(found));
            }
        }
        Ok(None)
    }

    /// The one whose root is `folder`.
    ///
    /// # Errors
    /// When there is a Cargo.toml that is no TOML.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&path) else {
            return Ok(None);
        };
        let manifest: DocumentMut = text
            .parse()
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Ok(manifest.contains_key("workspace").then(|| Self {
            root: folder.to_owned(),
            text,
            manifest,
        }))
    }

    /// Whether its root is a package as well.
    pub(crate) fn has_package(&self) -> bool {
        self.manifest.contains_key("package")
    }

    /// The dependency that members inherit by that name.
    pub(crate) fn dependency(&self, name: &str) -> Option<&Item> {
        self.manifest.get("workspace")?.get("dependencies")?.get(name)
    }

    /// As cargo does: what is excluded and also a member by name is a member. These lists hold folders, and no patterns.
    fn excludes(&self, root: &Path, folder: &Path) -> bool {
        let names = |list: &str| self.list(list).any(|way| folder.starts_with(root.join(way)));
        names("exclude") && !names("members")
    }

    pub(crate) fn cargo_toml(&self) -> PathBuf {
        self.root.join("Cargo.toml")
    }

    /// From the root to `folder`.
    fn way(&self, folder: &Path) -> PathBuf {
        folder.strip_prefix(&self.root).unwrap_or(folder).to_owned()
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let list = self
            .manifest
            .get("workspace")
            .and_then(|workspace| workspace.get(name)?.as_array());
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The text of its Cargo.toml with `folder` among the members; `None` where it is already.
    pub(crate) fn with_member(&self, folder: &Path) -> Option<String> {
        let way = self.way(folder);
        let options = glob::MatchOptions {
            require_literal_separator: true,
            ..glob::MatchOptions::new()
        };
        let is_member = self.list("members").any(|member| {
            // `./ops/*/` is `ops/*`.
            let member: PathBuf = Path::new(member)
                .components()
                .filter(|part| *part != Component::CurDir)
                .collect();
            glob::Pattern::new(&member.to_string_lossy())
                .is_ok_and(|pattern| pattern.matches_path_with(&way, options))
        });
        if is_member {
            return None;
        }
        let mut manifest = self.manifest.clone();
        let workspace = manifest.get_mut("workspace")?.as_table_like_mut()?;
        let members = workspace
            .entry("members")
            .or_insert(Item::Value(Value::Array(Array::new())))
            .as_array_mut()?;
        let way = way.components().map(|part| part.as_os_str().to_string_lossy());
        let mut member = Value::from(way.collect::<Vec<_>>().join("/"));
        // Written as the one before: in a line of its own, if that has one, and below the comment behind it.
        let indent = members.iter().last().and_then(|last| {
            let (_, indent) = last.decor().prefix()?.as_str()?.rsplit_once('\n')?;
            Some(indent.to_owned())
        });
        let Some(indent) = indent else {
            members.push(member);
            return Some(self.written(&manifest));
        };
        let trailing = members.trailing().as_str().unwrap_or_default();
        let (comment, end) = trailing.rsplit_once('\n').unwrap_or(("", ""));
        let (prefix, trailing) = (format!("{comment}\n{indent}"), format!("\n{end}"));
        member.decor_mut().set_prefix(prefix);
        members.push_formatted(member);
        members.set_trailing(trailing);
        members.set_trailing_comma(true);
        Some(self.written(&manifest))
    }

    /// TOML is written with the line ends of Unix, whatever was read.
    fn written(&self, manifest: &DocumentMut) -> String {
        disk::with_line_ends_of(&self.text, &manifest.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(manifest: &str, folder: &str) -> Option<(tempfile::TempDir, Workspace, PathBuf)> {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        let folder = root.path().join(folder);
        let workspace = Workspace::find(&folder).unwrap()?;
        Some((root, workspace, folder))
    }

    fn joined(manifest: &str, folder: &str) -> Option<String> {
        let (_root, workspace, folder) = found(manifest, folder).unwrap();
        workspace.with_member(&folder)
    }

    #[test]
    fn a_member_by_name_or_pattern_needs_no_change() {
        assert_eq!(joined("[workspace]\nmembers = [\"site\"]\n", "site"), None);
        assert_eq!(joined("[workspace]\nmembers = [\"ops/*\"]\n", "ops/site"), None);
        assert!(joined("[workspace]\nmembers = [\"*\"]\n", "ops/site").is_some());
    }

    #[test]
    fn another_is_added_as_the_others_are_written() {
        assert_eq!(
            joined(
                "[workspace] # ours\nmembers = [\n    \"a\", # first\n    \"b\", # last\n]\n",
                "ops/site"
            )
            .unwrap(),
            "[workspace] # ours\nmembers = [\n    \"a\", # first\n    \"b\", # last\n    \"ops/site\",\n]\n"
        );
        assert_eq!(
            joined("[workspace]\nmembers = [\"a\"]\n", "site").unwrap(),
            "[workspace]\nmembers = [\"a\", \"site\"]\n"
        );
        assert_eq!(
            joined("[package]\nname = \"a\"\n\n[workspace]\n", "site").unwrap(),
            "[package]\nname = \"a\"\n\n[workspace]\nmembers = [\"site\"]\n"
        );
    }

    #[test]
    fn what_is_excluded_or_no_workspace_is_not_joined() {
        assert!(found("[workspace]\nexclude = [\"site\"]\n", "site").is_none());
        assert!(found("[workspace]\nexclude = [\"./ops/\"]\n", "ops/site").is_none());
        assert!(found("[package]\nname = \"a\"\n", "site").is_none());
        // Cargo: who is excluded and listed is in.
        let both = "[workspace]\nexclude = [\"ops\"]\nmembers = [\"ops/site\"]\n";
        assert_eq!(joined(both, "ops/site"), None);
        assert!(found(both, "ops/other").is_none());
    }

    #[test]
    fn every_way_to_write_the_members_is_understood() {
        for there in ["./ops/*", "ops/*/", "./ops/site", "ops/./site", "ops/**"] {
            assert_eq!(
                joined(&format!("[workspace]\nmembers = [\"{there}\"]\n"), "ops/site"),
                None,
                "{there}"
            );
        }
        for (before, after) in [
            (
                "workspace = { members = [\"a\"] }\n",
                "workspace = { members = [\"a\", \"site\"] }\n",
            ),
            ("workspace = {}\n", "workspace = { members = [\"site\"] }\n"),
            (
                "workspace.members = [\"a\"]\n",
                "workspace.members = [\"a\", \"site\"]\n",
            ),
            (
                "[workspace]\nmembers = []\n",
                "[workspace]\nmembers = [\"site\"]\n",
            ),
            (
                "[workspace]\nmembers = [\n]\n",
                "[workspace]\nmembers = [\"site\"\n]\n",
            ),
            (
                "[workspace]\r\nmembers = [\r\n  \"a\",\r\n]\r\n",
                "[workspace]\r\nmembers = [\r\n  \"a\",\r\n  \"site\",\r\n]\r\n",
            ),
        ] {
            assert_eq!(joined(before, "site").unwrap(), after);
        }
    }
}
