//! Answers as HTTP.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Body;
use crate::call::{Answer, Call, Verb};
use crate::codec::accept::{Accept, Form, Media};
use crate::fault::{self, Fault};
use crate::registry::Resource;
use crate::status::ApiError;
use crate::storage::{Stored, encode};
use crate::table;
use crate::view::{self, ListMeta};
use crate::watch::WatchStream;

fn response(code: u16, content_type: &str, body: Body, warnings: &[String]) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(header::CONTENT_TYPE, value);
    }
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    );
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{text}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
    response
}

/// Plain text.
pub(crate) fn text(code: u16, text: &str) -> Response<Body> {
    let body = Body::whole(Bytes::copy_from_slice(text.as_bytes()));
    response(code, "text/plain; charset=utf-8", body, &[])
}

/// Nothing is there, not even an API.
pub(crate) fn not_found_text() -> Response<Body> {
    text(404, "404 page not found\n")
}

/// A JSON document.
pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    bytes(code, "application/json", encode(value))
}

/// A document of any type.
pub(crate) fn bytes(code: u16, content_type: &str, bytes: Bytes) -> Response<Body> {
    response(code, content_type, Body::whole(bytes), &[])
}

/// A refusal.
pub(crate) fn refusal(error: &ApiError, media: Media, warnings: &[String]) -> Response<Body> {
    let mut response = document(error.code, media, &error.to_value(), warnings);
    let seconds = error
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn document(code: u16, media: Media, value: &Value, warnings: &[String]) -> Response<Body> {
    let bytes = match media {
        Media::Json => encode(value),
        Media::Yaml => serde_saphyr::to_string(value).unwrap_or_default().into(),
    };
    response(code, media.name(), Body::whole(bytes), warnings)
}

/// The stream of a watch.
pub(crate) fn watch(stream: WatchStream, accept: Accept, warnings: &[String]) -> Response<Body> {
    let content_type = match accept.form {
        Form::Object | Form::Partial | Form::PartialList | Form::Table => "application/json",
    };
    response(200, content_type, Body::watch(stream), warnings)
}

/// Objects in the form that was asked for.
pub(crate) fn objects(
    call: &Call,
    answer: Answer,
    faults: &[Fault],
    warnings: &[String],
    now: Timestamp,
) -> Response<Body> {
    let resource = call.resource();
    let accept = call.accept;
    let plain = accept == Accept::default();
    if let Some(error) = misfit(accept.form, &answer) {
        return refusal(&error, accept.media, warnings);
    }
    match answer {
        Answer::Stored { code, stored } if plain => {
            let body = Body::whole(view::json(resource, &stored));
            response(code, "application/json", body, warnings)
        }
        Answer::Stored { code, stored } => {
            let object = view::value(resource, &stored);
            document(
                code,
                accept.media,
                &shown(resource, accept, object, now),
                warnings,
            )
        }
        Answer::Value { code, value } => {
            document(code, accept.media, &shown(resource, accept, value, now), warnings)
        }
        Answer::List { meta, items } => list(call, &meta, &items, faults, warnings, now),
        Answer::Watch(_) | Answer::NotYet { .. } => {
            unreachable!("watches and waits are handled where they are found")
        }
    }
}

/// The metadata of one object is asked for where a list is, or the other way round. What a write has
/// done by then stays done.
fn misfit(form: Form, answer: &Answer) -> Option<ApiError> {
    let (wanted, what) = match (form, answer) {
        (Form::Partial, Answer::List { .. }) => ("PartialObjectMetadata", "a list"),
        (Form::PartialList, Answer::Stored { .. }) => ("PartialObjectMetadataList", "not a list"),
        (Form::PartialList, Answer::Value { value, .. }) if value["kind"] != "Status" => {
            ("PartialObjectMetadataList", "not a list")
        }
        _ => return None,
    };
    let message = format!("you requested {wanted}, but the requested object is {what}");
    Some(ApiError::new(406, "NotAcceptable", message))
}

/// One object as a table, or its metadata; a `Status` stays what it is.
fn shown(resource: &Resource, accept: Accept, object: Value, now: Timestamp) -> Value {
    if object["kind"] == "Status" {
        return object;
    }
    match accept.form {
        Form::Object => object,
        Form::Table => resource.columns().of_object(&object, accept, now),
        Form::Partial | Form::PartialList => table::partial(&object, accept.version),
    }
}

fn list(
    call: &Call,
    meta: &ListMeta,
    items: &[std::sync::Arc<Stored>],
    faults: &[Fault],
    warnings: &[String],
    now: Timestamp,
) -> Response<Body> {
    let mut meta = meta.clone();
    if faults.iter().any(|fault| matches!(fault, Fault::ForgetContinue)) {
        meta.continue_token = None;
    }
    let resource = call.resource();
    let accept = call.accept;
    let garbage = faults.iter().find_map(|fault| match fault {
        Fault::Garbage { at } if call.verb == Verb::List => Some(*at),
        _ => None,
    });
    if accept == Accept::default() && garbage.is_none() {
        let bytes = view::list(resource, &meta, items.iter().map(|item| &**item));
        return response(200, "application/json", Body::whole(bytes), warnings);
    }
    let objects: Vec<Value> = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let mut object = view::value(resource, item);
            if garbage == Some(index) {
                fault::garble(&mut object);
            }
            object
        })
        .collect();
    let document_value = match accept.form {
        Form::Table => resource.columns().of_list(&objects, meta.plain(), accept, now),
        Form::Partial | Form::PartialList => {
            let partial = |object| table::partial(object, accept.version);
            let items: Vec<Value> = objects.iter().map(partial).collect();
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": accept.version.api_version(),
                "metadata": meta.plain(),
                "items": if items.is_empty() { Value::Null } else { items.into() },
            })
        }
        Form::Object => json!({
            "kind": resource.list_kind, "apiVersion": resource.api_version(),
            "metadata": meta.value(resource), "items": objects,
        }),
    };
    document(200, accept.media, &document_value, warnings)
}
