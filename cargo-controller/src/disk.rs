//! Files that are written together, or not at all.
//!
//! When one cannot be written, what was written before it is taken back: the files and the folders that this run made, and nothing else.
//! A file that was there is replaced as a whole: it is the old one or the new one, whatever happens.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::error::Error;

/// What is to be written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Paths and texts.
    pub(crate) new: Vec<(PathBuf, String)>,
    /// A file that is there, and its new text.
    pub(crate) changed: Option<(PathBuf, String)>,
}

impl Draft {
    /// # Errors
    /// When a file is in the way of a new one, or the disk says no.
    pub(crate) fn write(&self) -> Result<(), Error> {
        let there = self.new.iter().find(|(path, _)| path.symlink_metadata().is_ok());
        if let Some((there, _)) = there {
            return Err(Error::InTheWay(there.clone()));
        }
        let mut made = Made::default();
        self.put(&mut made).map_err(|(path, source)| Error::TakenBack {
            path,
            source,
            left: made.take_back(),
        })
    }

    /// What is there is changed last, when all that is new could be written.
    fn put(&self, made: &mut Made) -> Result<(), (PathBuf, io::Error)> {
        for (path, text) in &self.new {
            if let Some(folder) = path.parent() {
                made.folder(folder)?;
            }
            made.file(path, text).map_err(|error| (path.clone(), error))?;
        }
        match &self.changed {
            Some((path, text)) => replace(path, text).map_err(|error| (path.clone(), error)),
            None => Ok(()),
        }
    }
}

/// What this run has made, in order.
#[derive(Debug, Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn folder(&mut self, folder: &Path) -> Result<(), (PathBuf, io::Error)> {
        let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
        for folder in missing
            .into_iter()
            .rev()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            fs::create_dir(folder).map_err(|error| (folder.to_owned(), error))?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = fs::File::create_new(path)?;
        self.files.push(path.to_owned());
        file.write_all(text.as_bytes())
    }

    /// What could not be. A folder in which somebody else has put something is not ours alone any more, and stays.
    fn take_back(&self) -> Vec<PathBuf> {
        let left = self.files.iter().filter(|path| fs::remove_file(path).is_err());
        let left = left.cloned().collect();
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
        left
    }
}

/// By a file beside it, which takes its name. A link stays one, and who may not write the file may not replace it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    let permissions = fs::OpenOptions::new()
        .write(true)
        .open(&path)?
        .metadata()?
        .permissions();
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(permissions)?;
    file.persist(&path)?;
    Ok(())
}

/// `after`, with the ends of lines of `before`: each line that was there has its own, and a new one that of the first.
pub(crate) fn with_line_ends_of(before: &str, after: &str) -> String {
    // The last line may have no end.
    let plain = |line: &str| {
        let text = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        (text.to_owned(), line.ends_with('\n'))
    };
    let old: Vec<_> = before.split_inclusive('\n').collect();
    let new: Vec<_> = after.split_inclusive('\n').collect();
    let same = |pair: &(&&str, &&str)| plain(pair.0) == plain(pair.1);
    let head = old.iter().zip(&new).take_while(same).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(same)
        .count();
    let end = match old.first() {
        Some(first) if first.ends_with("\r\n") => "\r\n",
        _ => "\n",
    };
    let middle = new[head..new.len() - tail]
        .iter()
        .map(|line| match line.strip_suffix('\n') {
            Some(line) => format!("{}{end}", line.trim_end_matches('\r')),
            None => (*line).to_owned(),
        });
    let head = old[..head].concat();
    let tail = old[old.len() - tail..].concat();
    [head, middle.collect(), tail].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_taken_back_when_a_file_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("mine")).unwrap();
        fs::write(at("mine/file"), "").unwrap();
        // A folder can be no file to replace.
        let draft = Draft {
            new: vec![(at("mine/new/a"), String::new()), (at("other/b"), String::new())],
            changed: Some((at("mine"), String::new())),
        };
        let error = draft.write().unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert!(error.help().unwrap().contains("taken back"));
        assert_eq!(
            (
                at("mine/new").exists(),
                at("other").exists(),
                at("mine/file").exists()
            ),
            (false, false, true)
        );
    }

    #[test]
    fn a_file_that_is_in_the_way_stays_and_ends_it_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), "mine").unwrap();
        let new = ["a", "b"].map(|name| (folder.path().join(name), "new".to_owned()));
        let draft = Draft {
            new: new.into(),
            changed: None,
        };
        assert!(matches!(draft.write(), Err(Error::InTheWay(_))));
        assert!(!folder.path().join("a").exists());
        assert_eq!(fs::read_to_string(folder.path().join("b")).unwrap(), "mine");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions_and_its_link() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        replace(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn each_line_keeps_its_end() {
        for (before, after, expected) in [
            ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n"),
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("a\r\nb\r\n", "a\r\nx\nb\r\n", "a\r\nx\r\nb\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nx\nc\n", "a\r\nb\nx\r\nc\r\n"),
            ("\u{feff}a\r\nb", "a\nx\nb", "\u{feff}a\r\nx\r\nb"),
            ("a\r\nb", "a\nb\nx", "a\r\nb\r\nx"),
            ("", "x\n", "x\n"),
        ] {
            assert_eq!(
                with_line_ends_of(before, after),
                expected,
                "{before:?} to {after:?}"
            );
        }
    }
}
