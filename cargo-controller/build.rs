//! Carries the examples in the program: a table of every file in every folder of `examples`, which `new/template.rs` includes.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    println!("cargo::rerun-if-changed={}", examples.display());
    let mut table = String::from("&[\n");
    for example in entries(&examples)? {
        if !example.join("Cargo.toml").is_file() {
            continue;
        }
        let mut files = Vec::new();
        collect(&example, &mut files)?;
        let name = shown(&examples, &example);
        let _ = writeln!(table, "Example {{ name: {name:?}, files: &[");
        for file in files {
            let (path, file) = (shown(&example, &file), file.display().to_string());
            let _ = writeln!(table, "({path:?}, include_str!({file:?})),");
        }
        table.push_str("] },\n");
    }
    table.push(']');
    let folder = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&folder).join("examples.rs"), table)
}

/// In order, without what editors and cargo leave behind.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && !name.ends_with('~') && name != "target" && name != "Cargo.lock" {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// With `/` between the parts, on every system.
fn shown(base: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(base).unwrap_or(path).components();
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}
