//! The script that tests an operator on a cluster of kind, played for every operator of the gallery: with programs in the place of docker and
//! kind, an API server in the place of the cluster, and the operator itself in the place of its Pod.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// What the script calls. `run` prints what the operator does with the rest of the line.
const DOCKER: &str = r#"#!/bin/sh
echo "docker $*" >> "$PLAY/calls"
[ "$1" != run ] || { shift 3; exec "$OPERATOR" "$@"; }
"#;

/// kind takes no other names.
const KIND: &str = r#"#!/bin/sh
echo "kind $*" >> "$PLAY/calls"
case "$1 $2" in
    "get clusters") cat "$PLAY/clusters" 2>/dev/null || echo "No kind clusters found." ;;
    "create cluster")
        echo "$4" | grep -Eqx '[a-z0-9.-]+' || { echo "'$4' is not a valid cluster name"; exit 1; }
        echo "$4" > "$PLAY/clusters"
        ;;
    "delete cluster") rm "$PLAY/clusters" ;;
esac
"#;

/// The cluster's own, but for what the Pod of the operator is asked: it begins with the rollout, and is ready when it says so.
const KUBECTL: &str = r#"#!/bin/sh
[ "$1" = --context ] && shift 2
case "$*" in
    *"rollout restart"*) ;;
    *"rollout status"*)
        "$OPERATOR" --address 127.0.0.1:0 --address-file "$PLAY/address" > "$PLAY/log" 2>&1 &
        echo $! > "$PLAY/pid"
        for _ in $(seq 600); do
            [ -s "$PLAY/address" ] && curl -fsS "http://$(cat "$PLAY/address")/readyz" >/dev/null 2>&1 && exit 0
            sleep 0.1
        done
        curl -sS "http://$(cat "$PLAY/address")/readyz" >&2
        exit 1
        ;;
    *"get --raw"*"/services/"*":http/proxy/metrics") curl -fsS "http://$(cat "$PLAY/address")/metrics" ;;
    *) exec "$KUBECTL" "$@" ;;
esac
"#;

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}

/// A project of the script's, and the cluster that it is played on.
struct Play {
    folder: tempfile::TempDir,
    server: Child,
    operator: PathBuf,
    kubectl: PathBuf,
}

impl Play {
    fn new(name: &str, kubectl: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = env!("CARGO_BIN_EXE_cargo-controller");
        let made = Command::new(program)
            .args(["controller", "new", "my_operator", "--kind", "Probe"])
            .current_dir(folder.path())
            .output()
            .expect("it starts");
        assert!(made.status.success(), "{made:?}");
        // The script is the same for all; its samples are those of the example, whose binary is played.
        let project = folder.path().join("my_operator");
        fs::remove_dir_all(project.join("manifests")).expect("it has samples");
        let samples = crate::folder(name).join("manifests");
        fs::create_dir(project.join("manifests")).expect("a folder");
        for sample in fs::read_dir(samples).expect("it has samples").flatten() {
            let to = project.join("manifests").join(sample.file_name());
            fs::copy(sample.path(), to).expect("a file");
        }
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        for (program, text) in [("docker", DOCKER), ("kind", KIND), ("kubectl", KUBECTL)] {
            fs::write(bin.join(program), text).expect("a file");
            let all = fs::Permissions::from_mode(0o755);
            fs::set_permissions(bin.join(program), all).expect("it is ours");
        }
        let mut server = Command::new(program)
            .args([
                "controller",
                "apiserver",
                "--listen",
                "127.0.0.1:0",
                "--kubeconfig",
            ])
            .arg(folder.path().join("kubeconfig"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // It says so when it serves, and the file is written.
        let mut line = String::new();
        let told = server.stdout.as_mut().expect("it is piped");
        BufReader::new(told).read_line(&mut line).expect("it is UTF-8");
        assert!(line.starts_with("serving on "), "{line}");
        let binaries = Path::new(program).parent().expect("it is in a folder");
        Self {
            operator: binaries.join(name),
            kubectl: kubectl.to_owned(),
            folder,
            server,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn run(&self, keep: bool) -> Output {
        let bin = self.path("bin").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut script = Command::new("bash");
        script
            .arg(self.path("my_operator/e2e.sh"))
            .env("PATH", format!("{bin}:{path}"))
            .env("PLAY", self.folder.path())
            .env("OPERATOR", &self.operator)
            .env("KUBECTL", &self.kubectl)
            .env("KUBECONFIG", self.path("kubeconfig"))
            .env_remove("RUST_LOG")
            .env_remove("KEEP");
        if keep {
            script.env("KEEP", "1");
        }
        let output = script.output().expect("bash is there");
        self.stop_the_operator();
        output
    }

    fn stop_the_operator(&self) {
        let pid = self.read("pid");
        if !pid.trim().is_empty() {
            let _ = Command::new("kill").arg(pid.trim()).status();
            let _ = fs::remove_file(self.path("pid"));
            let _ = fs::remove_file(self.path("address"));
        }
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        self.stop_the_operator();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whatever kinds an operator needs, and whatever becomes of the objects that it has reconciled.
#[test]
fn the_script_sees_every_operator_at_work() {
    let (Some(kubectl), Some(_)) = (find("kubectl"), find("curl")) else {
        eprintln!("no kubectl or no curl here: the script is not played");
        return;
    };
    let names = crate::gallery();
    let play = |name: &String| {
        let play = Play::new(name, &kubectl);
        let output = play.run(false);
        let calls = play.read("calls");
        let well = output.status.success()
            && told(&output).ends_with("reconciled\n")
            && calls.contains("kind delete cluster --name my-operator-e2e");
        (!well).then(|| format!("{name}: {}{calls}{}", told(&output), play.read("log")))
    };
    let wrong: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = names.iter().map(|name| scope.spawn(move || play(name))).collect();
        running
            .into_iter()
            .filter_map(|one| one.join().expect("it told"))
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A cluster that was kept is taken again, by the next run too; one without `KEEP` takes it away.
#[test]
fn a_cluster_that_was_kept_is_used_again() {
    let (Some(kubectl), Some(_)) = (find("kubectl"), find("curl")) else {
        eprintln!("no kubectl or no curl here: the script is not played");
        return;
    };
    let name = "namespace-quota";
    crate::gallery();
    let play = Play::new(name, &kubectl);
    for (keep, kept) in [(true, true), (true, true), (false, false)] {
        let output = play.run(keep);
        assert!(output.status.success(), "{}", told(&output));
        assert_eq!(play.path("clusters").exists(), kept);
    }
    assert_eq!(play.read("calls").matches("kind create cluster").count(), 1);
}
