//! The layout of what is written: names of another length break lines elsewhere.
//!
//! Without rustfmt a project is as good, and less pretty; so nothing here fails.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// Lays out files; those that are no Rust are passed over.
pub(crate) fn files<'a>(files: impl Iterator<Item = &'a Path>) {
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let _ = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .args(rust)
        .output();
}

/// `after`, laid out if `before` was, by the rules that hold in `folder`.
pub(crate) fn as_before(before: &str, after: String, folder: &Path) -> String {
    match (text(before, folder), text(&after, folder)) {
        (Some(tidy), Some(laid_out)) if tidy == before => laid_out,
        _ => after,
    }
}

fn text(text: &str, folder: &Path) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It reads all before it writes; dropping the pipe is its end.
    rustfmt.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = rustfmt.wait_with_output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())?
}
