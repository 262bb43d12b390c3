//! The label sets.

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfController {
    pub(super) controller: String,
}

/// A queue is its controller's, and is named like it: both labels are there because Go's have both.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfQueue {
    pub(super) name: String,
    pub(super) controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfDepth {
    pub(super) name: String,
    pub(super) controller: String,
    pub(super) priority: &'static str,
}

impl OfDepth {
    pub(super) fn new(controller: &str, priority: &'static str) -> Self {
        Self {
            name: controller.to_owned(),
            controller: controller.to_owned(),
            priority,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfResult {
    pub(super) controller: String,
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
pub(super) struct OfSource {
    pub(super) controller: String,
    pub(super) kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfLease {
    pub(super) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfRequest {
    pub(super) code: String,
    pub(super) method: String,
    pub(super) host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfBuild {
    pub(super) operator: String,
    pub(super) version: String,
    pub(super) runtime_version: String,
}

impl OfController {
    pub(super) fn new(controller: &str) -> Self {
        Self {
            controller: controller.to_owned(),
        }
    }
}

impl OfQueue {
    pub(super) fn new(controller: &str) -> Self {
        Self {
            name: controller.to_owned(),
            controller: controller.to_owned(),
        }
    }
}
