//! `cargo controller dev` as its user meets it: the example, wrong manifests, edits, and an end that leaves nothing behind.

#![allow(missing_docs, reason = "a test binary has no readers of its API")]
#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// How long anything may take; the first test builds the example.
const LIMIT: Duration = Duration::from_secs(240);

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/document")
}

fn dev(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-controller"));
    command
        .args(["controller", "dev"])
        .arg(document())
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn holds(output: &Output, texts: &[&str]) {
    let all = text(&output.stdout) + &text(&output.stderr);
    for text in texts {
        assert!(all.contains(text), "no {text:?} in:\n{all}");
    }
}

/// The main job: a transient error heals, a permanent one is listed, and all is quiet.
#[test]
fn the_example_settles() {
    let output = dev(&["--until-settled"]).output().expect("it starts");
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    holds(
        &output,
        &[
            "export KUBECONFIG=",
            "documents.example.com",
            "all caches in sync",
            "created  Document default/welcome",
            "ok       Document default/welcome",
            "error    Document default/early: secret \"late\" is not there",
            "Secret default/late changed",
            "8 objects reconciled, 1 failed for good:",
            "- Document default/untitled: invalid spec: title is blank",
        ],
    );
}

/// Each mistake is told once, with file, document, object and the server's words; what is right is applied all the same.
#[test]
fn wrong_manifests_are_told_one_by_one_and_harm_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let document = |name: &str, spec: &str| {
        format!(
            "apiVersion: example.com/v1\nkind: Document\nmetadata: {{name: {name}, namespace: default}}\nspec: {spec}\n"
        )
    };
    write(
        "1-secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default, labels: {example.com/documents: right}}\n",
    );
    write(
        "2-mixed.yaml",
        &[
            document("right", "{title: a, content: b, secretName: s}"),
            document("wrong-type", "{title: [a], content: b, secretName: s}"),
            "kind: Document\nmetadata: {name: no-version}\n".to_owned(),
            "apiVersion: example.com/v1\nkind: Dokument\nmetadata: {name: typo}\n".to_owned(),
        ]
        .join("---\n"),
    );
    write("3-no-yaml.yaml", "a: [\n");
    let manifests = folder.path().to_str().expect("a path of our own is UTF-8");
    let output = dev(&["--until-settled", "--manifests", manifests])
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    holds(
        &output,
        &[
            "ok       Document default/right",
            "2-mixed.yaml:6 (document 2): Document default/wrong-type: refused by the server: ",
            "spec.title",
            "(document 3): Document no-version: apiVersion is missing",
            "(document 4): Dokument typo: the server knows no kind Dokument in example.com/v1",
            "3-no-yaml.yaml",
            "not readable as YAML",
            "error: not settled:",
        ],
    );
}

/// A session that goes on until it is told to end.
struct Session {
    child: Child,
    lines: Receiver<String>,
    told: Vec<String>,
}

impl Session {
    fn start(args: &[&str]) -> Self {
        let mut child = dev(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            told: Vec::new(),
        }
    }

    #[track_caller]
    fn wait_for(&mut self, what: &str) -> String {
        loop {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => {
                    self.told.push(line.clone());
                    if line.contains(what) {
                        return line;
                    }
                }
                Err(error) => panic!("no {what:?} ({error}) in:\n{}", self.told.join("\n")),
            }
        }
    }

    /// The temporary folder, by the line that tells kubectl's configuration.
    fn scratch(&mut self) -> PathBuf {
        let line = self.wait_for("export KUBECONFIG=");
        let (_, path) = line.split_once("KUBECONFIG=").expect("it was looked for");
        Path::new(path)
            .parent()
            .expect("it is a file in a folder")
            .to_owned()
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(status.expect("kill is there").success());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It fails only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Operators that were started with a file in this folder.
#[cfg(target_os = "linux")]
fn operators(scratch: &Path) -> usize {
    let scratch = scratch.to_str().expect("a path of our own is UTF-8").as_bytes();
    let processes = fs::read_dir("/proc").expect("Linux has it").flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|command| command.windows(scratch.len()).any(|part| part == scratch))
        .count()
}

#[cfg(target_os = "linux")]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let (_sender, never) = channel::<()>();
    for _ in 0..600 {
        if holds() {
            return;
        }
        let _ = never.recv_timeout(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_leaves_nothing_behind() {
    let mut session = Session::start(&[]);
    let scratch = session.scratch();
    session.wait_for("ok       Document default/early");
    assert_eq!(operators(&scratch), 1);
    session.signal("-TERM");
    let status = session.child.wait().expect("it is ours");
    assert!(status.success(), "{status}");
    assert_eq!(operators(&scratch), 0);
    assert!(!scratch.exists(), "{} is left", scratch.display());
}

/// Even a kill that cannot be caught takes the operator along.
#[cfg(target_os = "linux")]
#[test]
fn the_operator_does_not_outlive_a_kill() {
    let mut session = Session::start(&[]);
    let scratch = session.scratch();
    session.wait_for("all caches in sync");
    session.signal("-KILL");
    until("the operator is gone", || operators(&scratch) == 0);
    fs::remove_dir_all(scratch).expect("nobody else could");
}

#[test]
fn an_edit_of_a_manifest_is_taken_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in fs::read_dir(document().join("manifests"))
        .expect("it is there")
        .flatten()
    {
        fs::copy(file.path(), folder.path().join(file.file_name())).expect("a file");
    }
    let manifests = folder.path().to_str().expect("a path of our own is UTF-8");
    let mut session = Session::start(&["--manifests", manifests]);
    session.wait_for("ok       Document default/early");
    let trouble = folder.path().join("40-trouble.yaml");
    let edited = fs::read_to_string(&trouble)
        .expect("it is there")
        .replace("title: \" \"", "title: At last");
    fs::write(&trouble, edited).expect("it is ours");
    session.wait_for("changed  Document default/untitled");
    session.wait_for("ok       Document default/untitled");
    fs::remove_file(&trouble).expect("it is ours");
    session.wait_for("deleted  Document default/untitled");
    session.wait_for("gone     Document default/untitled");
    session.signal("-TERM");
    assert!(session.child.wait().expect("it is ours").success());
}

/// In a terminal of its own, which `script` makes: a table below the lines, without colour if so wished; after Ctrl-C cursor and echo are as they were.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_shows_a_table_and_is_given_back() {
    use std::io::{Read, Write};

    let session = format!(
        "trap : INT; stty cols 90 rows 16; {} controller dev {}; echo status $?; stty -a",
        env!("CARGO_BIN_EXE_cargo-controller"),
        document().display()
    );
    let mut terminal = Command::new("script")
        .args(["--quiet", "--command", &session, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("util-linux is there");
    let mut keys = terminal.stdin.take().expect("it is piped");
    let mut screen = terminal.stdout.take().expect("it is piped");
    let mut shown = Vec::new();
    let mut bytes = [0; 4096];
    let mut is_interrupted = false;
    while let Ok(read @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..read]);
        if !is_interrupted && text(&shown).contains("9 objects: 8 ok, 1 failed") {
            keys.write_all(b"typed\x03").expect("it is open");
            is_interrupted = true;
        }
    }
    let _ = terminal.wait();
    let shown = text(&shown);
    for part in [
        "ok       Document default/welcome",
        "OBJECT                      STATE   LAST RUN",
        "Document default/untitled   failed  ",
        "invalid spec: title is blank",
        "… and ",
        "status 0",
        " echo ",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    assert!(!shown.contains("typed"), "{shown}");
    for colour in ["\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m"] {
        assert!(!shown.contains(colour), "NO_COLOR was said: {shown}");
    }
    let (hidden, given_back) = (shown.rfind("\x1b[?25l"), shown.rfind("\x1b[?25h"));
    assert!(hidden.is_some() && hidden < given_back, "{shown}");
}
