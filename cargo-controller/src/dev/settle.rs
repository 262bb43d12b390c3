//! When all is quiet, and what is still open. Pure.

use super::{
    narrate::duration,
    wire::{Controller, ObjectRun, RunResult, Status},
};

/// An object that was applied and must be reconciled, if a controller reconciles its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// Whether there is anything left to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing. These have failed for good.
    Settled { reconciled: usize, failed: Vec<String> },
    /// This.
    Open(Vec<String>),
}

/// Judges one moment. It is the end only when it stays so for a while.
pub(crate) fn judge(status: &Status, expected: &[Expected]) -> Verdict {
    let mut open = Vec::new();
    let mut failed = Vec::new();
    let mut reconciled = 0;
    for controller in &status.controllers {
        open.extend(unquiet(controller));
        open.extend(missing(controller, expected));
        for run in &controller.objects {
            match run.run.result {
                RunResult::Ok => reconciled += 1,
                RunResult::Permanent => failed.push(format!("{}: {}", run.object, reason(run))),
                _ => open.push(retry(run)),
            }
        }
    }
    if open.is_empty() {
        Verdict::Settled { reconciled, failed }
    } else {
        Verdict::Open(open)
    }
}

fn reason(run: &ObjectRun) -> &str {
    run.run.error.as_deref().unwrap_or("no reason given")
}

fn retry(run: &ObjectRun) -> String {
    let again = run
        .run
        .next_ms
        .map(|ms| format!("; tried again in {}", duration(ms)));
    format!("{}: {}{}", run.object, reason(run), again.unwrap_or_default())
}

fn unquiet(controller: &Controller) -> Vec<String> {
    let name = &controller.name;
    if let Some(reason) = &controller.ended {
        return vec![format!("controller {name} ended: {reason}")];
    }
    let failing = controller
        .sources
        .iter()
        .filter(|source| source.state == "failing");
    let mut open: Vec<_> = failing
        .map(|source| {
            let message = source.message.as_deref().unwrap_or("no reason given");
            format!("controller {name} cannot watch {}: {message}", source.kind)
        })
        .collect();
    if !controller.synced && open.is_empty() {
        open.push(format!("controller {name}: its caches are not in sync"));
    }
    let busy = controller.queue.ready + controller.queue.running;
    // More wait than have said when they run next: a change of some object is in its debounce window.
    let announced = controller
        .objects
        .iter()
        .filter(|run| run.run.next_ms.is_some())
        .count();
    let changed = controller.queue.waiting.saturating_sub(announced);
    if busy + changed > 0 {
        open.push(format!(
            "controller {name}: {} objects are about to run",
            busy + changed
        ));
    }
    open
}

/// A controller of some objects of a kind need not reconcile those of the manifests: what it does may unselect them.
fn missing<'a>(controller: &'a Controller, expected: &'a [Expected]) -> impl Iterator<Item = String> + 'a {
    expected
        .iter()
        .filter(|expected| controller.selector.is_none() && expected.kind == controller.kind)
        .filter(|expected| {
            !controller.objects.iter().any(|run| {
                let namespace = run.object.namespace.as_deref();
                // An object written without a namespace lands in the default one, if its kind has namespaces.
                let same_place = match &expected.namespace {
                    Some(expected) => namespace == Some(expected),
                    None => namespace.is_none_or(|namespace| namespace == "default"),
                };
                same_place && run.object.name == expected.name
            })
        })
        .map(|expected| format!("{} {} was not reconciled", expected.kind, expected.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(objects: &str, queue: &str) -> Status {
        serde_json::from_str(&format!(
            r#"{{"ready":true,"controllers":[{{"name":"document","kind":"Document","synced":true,
                "queue":{queue},"sources":[],"objects":[{objects}]}}]}}"#
        ))
        .unwrap()
    }

    const QUIET: &str = r#"{"ready":0,"running":0,"waiting":0}"#;

    fn run(name: &str, rest: &str) -> String {
        format!(r#"{{"kind":"Document","namespace":"default","name":"{name}",{rest}}}"#)
    }

    fn expected(name: &str) -> Expected {
        Expected {
            kind: "Document".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    fn open(status: &Status, expected: &[Expected]) -> Vec<String> {
        match judge(status, expected) {
            Verdict::Open(reasons) => reasons,
            settled @ Verdict::Settled { .. } => panic!("{settled:?}"),
        }
    }

    #[test]
    fn success_and_failure_for_good_are_settled() {
        let objects = [
            run("a", r#""result":"ok","next_ms":60000"#),
            run("b", r#""result":"permanent","error":"no title""#),
        ]
        .join(",");
        let queue = r#"{"ready":0,"running":0,"waiting":1}"#;
        assert_eq!(
            judge(&status(&objects, queue), &[expected("a"), expected("b")]),
            Verdict::Settled {
                reconciled: 1,
                failed: vec!["Document default/b: no title".to_owned()]
            }
        );
    }

    #[test]
    fn each_thing_that_is_open_is_named() {
        let retried = run("a", r#""result":"error","error":"no secret","next_ms":2000"#);
        assert_eq!(
            open(&status(&retried, QUIET), &[]),
            ["Document default/a: no secret; tried again in 2 s"]
        );
        assert_eq!(
            open(&status("", QUIET), &[expected("a")]),
            ["Document a was not reconciled"]
        );
        let busy = r#"{"ready":1,"running":1,"waiting":1}"#;
        assert_eq!(
            open(&status("", busy), &[]),
            ["controller document: 3 objects are about to run"]
        );
    }

    #[test]
    fn nothing_is_expected_of_a_controller_of_some() {
        let mut status = status("", QUIET);
        status.controllers[0].selector = Some("labels team".to_owned());
        assert!(matches!(
            judge(&status, &[expected("a")]),
            Verdict::Settled { reconciled: 0, .. }
        ));
    }

    #[test]
    fn an_object_in_another_namespace_is_another_object() {
        let done = run("a", r#""result":"ok""#);
        let elsewhere = Expected {
            namespace: Some("team-a".to_owned()),
            ..expected("a")
        };
        assert_eq!(open(&status(&done, QUIET), &[elsewhere]).len(), 1);
    }

    #[test]
    fn a_refused_list_is_the_reason_and_not_a_riddle() {
        let mut status = status("", QUIET);
        status.controllers[0].synced = false;
        status.controllers[0].sources = vec![super::super::wire::Source {
            kind: "Secret".to_owned(),
            state: "failing".to_owned(),
            message: Some("list: forbidden".to_owned()),
            undecodable: Vec::new(),
        }];
        assert_eq!(
            open(&status, &[]),
            ["controller document cannot watch Secret: list: forbidden"]
        );
    }
}
