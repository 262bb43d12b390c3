//! Renames the label `team` to `example.com/team`, on objects of the kinds in `JANITOR_KINDS`.
//!
//! `cargo run` runs it against the cluster of your kubeconfig, and `cargo controller dev` with no cluster at all.

mod controller;
#[cfg(test)]
mod tests;

use controller_runtime::prelude::*;
use kube::discovery::ApiResource;

use crate::controller::{Kind, tidy};

/// Without a word from outside.
const KINDS: &str = "v1/ConfigMap,apps/v1/Deployment";

#[tokio::main]
async fn main() -> controller_runtime::Result<()> {
    let kinds = std::env::var("JANITOR_KINDS").unwrap_or_else(|_| KINDS.to_owned());
    match operator(&kinds) {
        Ok(operator) => operator.main().await,
        Err(mistake) => {
            eprintln!("error: JANITOR_KINDS: {mistake}");
            std::process::exit(2);
        }
    }
}

/// What `main` and the tests run: a controller for each kind.
fn operator(kinds: &str) -> Result<Operator, String> {
    kinds
        .split(',')
        .try_fold(Operator::new("label-janitor"), |operator, text| {
            let kind = kind(text.trim())?;
            Ok(operator.controller(tidy::controller(kind.clone(), Kind(kind))))
        })
}

/// `v1/ConfigMap`, `apps/v1/Deployment`; with `=plural` behind it where that cannot be guessed.
fn kind(text: &str) -> Result<ApiResource, String> {
    let (path, plural) = text
        .split_once('=')
        .map_or((text, None), |(path, plural)| (path, Some(plural)));
    let parts: Vec<_> = path.split('/').collect();
    let (group, version, kind) = match parts.as_slice() {
        [version, kind] => ("", *version, *kind),
        [group, version, kind] => (*group, *version, *kind),
        _ => {
            return Err(format!(
                "{text:?} is no kind: write v1/ConfigMap or apps/v1/Deployment"
            ));
        }
    };
    let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
    Ok(match plural {
        Some(plural) => ApiResource::from_gvk_with_plural(&gvk, plural),
        None => ApiResource::from_gvk(&gvk),
    })
}
