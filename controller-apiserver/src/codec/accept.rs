//! What a client accepts as an answer.
//!
//! Source: "Alternate representations of resources" in the API concepts documentation. Protobuf is
//! not spoken: a client that also accepts JSON gets JSON.

use crate::status::ApiError;
use crate::table::IncludeObject;

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Media {
    #[default]
    Json,
    Yaml,
}

impl Media {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// Into what an answer is turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    #[default]
    Object,
    /// Rows and columns.
    Table,
    /// One object's metadata.
    Partial,
    /// A list of metadata.
    PartialList,
}

/// A negotiated answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) media: Media,
    pub(crate) form: Form,
    /// The form's version in `meta.k8s.io`.
    pub(crate) version: FormVersion,
    /// What of an object stands in a row of a table.
    pub(crate) include: IncludeObject,
}

/// A version of tables and partial objects; the two are alike but for their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FormVersion {
    #[default]
    V1,
    V1Beta1,
}

impl FormVersion {
    /// `apiVersion` of what is answered.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

const AVAILABLE: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

const AVAILABLE_STREAMS: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

impl Accept {
    /// The first clause of an `Accept` header that can be served, the weightier first.
    pub(crate) fn negotiate(header: Option<&str>) -> Result<Self, ApiError> {
        let header = header.unwrap_or_default().trim();
        if header.is_empty() {
            return Ok(Self::default());
        }
        let mut clauses: Vec<Clause<'_>> = header.split(',').map(Clause::parse).collect();
        clauses.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        clauses
            .iter()
            .find_map(Clause::accept)
            .ok_or_else(|| ApiError::not_acceptable(AVAILABLE))
    }

    /// A watch is written line by line, which YAML is not.
    pub(crate) fn streamed(self) -> Result<Self, ApiError> {
        match self.media {
            Media::Json => Ok(self),
            Media::Yaml => Err(ApiError::not_acceptable(AVAILABLE_STREAMS)),
        }
    }

    /// What a table holds of each object, by the parameter of the request.
    pub(crate) fn including(mut self, parameter: &str) -> Result<Self, ApiError> {
        if self.form == Form::Table {
            self.include = IncludeObject::parse(parameter).ok_or_else(|| {
                ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Unsupported value: {parameter:?}: supported values: \"\", \"Metadata\", \"None\", \"Object\""
                ))
            })?;
        }
        Ok(self)
    }

    /// How an error is sent to a client: its encoding, if that can be told.
    pub(crate) fn media_or_json(header: Option<&str>) -> Media {
        Self::negotiate(header).unwrap_or_default().media
    }
}

/// One of the alternatives of an `Accept` header.
pub(crate) struct Clause<'a> {
    media: &'a str,
    weight: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters: Vec<_> = parts
            .filter_map(|part| part.split_once('='))
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let weight = parameters
            .iter()
            .find(|(key, _)| *key == "q")
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(1.0);
        Self {
            media,
            weight,
            parameters,
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// The encoding this clause asks for.
    pub(crate) fn media(&self) -> Option<Media> {
        match self.media {
            "application/json" | "*/*" => Some(Media::Json),
            "application/yaml" => Some(Media::Yaml),
            _ => None,
        }
    }

    fn accept(&self) -> Option<Accept> {
        let mut accept = Accept {
            media: self.media()?,
            ..Accept::default()
        };
        let Some(form) = self.parameter("as") else {
            return Some(accept);
        };
        if self.parameter("g") != Some("meta.k8s.io") {
            return None;
        }
        accept.version = match self.parameter("v")? {
            "v1" => FormVersion::V1,
            "v1beta1" => FormVersion::V1Beta1,
            _ => return None,
        };
        accept.form = match form {
            "Table" => Form::Table,
            "PartialObjectMetadata" => Form::Partial,
            "PartialObjectMetadataList" => Form::PartialList,
            _ => return None,
        };
        Some(accept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiated(header: &str) -> Option<(Media, Form)> {
        let accept = Accept::negotiate(Some(header)).ok()?;
        Some((accept.media, accept.form))
    }

    #[test]
    fn the_first_clause_that_can_be_served_counts() {
        for (header, expected) in [
            ("", Some((Media::Json, Form::Object))),
            ("*/*", Some((Media::Json, Form::Object))),
            ("application/*", None),
            ("text/html", None),
            ("application/yaml", Some((Media::Yaml, Form::Object))),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some((Media::Json, Form::Object)),
            ),
            ("application/vnd.kubernetes.protobuf", None),
            (
                "application/nonsense, application/json;q=0.5",
                Some((Media::Json, Form::Object)),
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some((Media::Json, Form::Table)),
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
                Some((Media::Json, Form::Object)),
            ),
            ("application/json;as=Nonsense;v=v1;g=meta.k8s.io", None),
            (
                "application/yaml;q=0.2,application/json;q=0.9",
                Some((Media::Json, Form::Object)),
            ),
        ] {
            assert_eq!(negotiated(header), expected, "{header}");
        }
    }
}
