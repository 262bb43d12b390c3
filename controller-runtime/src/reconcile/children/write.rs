//! The requests that write children.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::ByteString;
use kube::{
    Client,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, Preconditions},
    core::{ObjectList, PartialObjectMeta, Request, Status},
};
use serde_json::{Map, Value};

use super::{super::requests::by_name, Child, Refusal};

/// A child as it is to be.
#[derive(Debug)]
pub(super) struct Desired {
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) hash: u64,
}

impl Desired {
    pub(super) fn new<T: Child>(child: &T, kind: String, name: String) -> Result<Self, Refusal> {
        let dyntype = T::DynamicType::default();
        let mut value = match serde_json::to_value(child) {
            Ok(value) => value,
            Err(error) => {
                return Err(Refusal::Unserializable {
                    kind,
                    name,
                    reason: error.to_string(),
                });
            }
        };
        value["apiVersion"] = Value::String(T::api_version(&dyntype).into_owned());
        value["kind"] = Value::String(T::kind(&dyntype).into_owned());
        if let Some(object) = value.as_object_mut() {
            // Whatever the type carries: a child is desired by its spec.
            object.remove("status");
            if (T::group(&dyntype).as_ref(), kind.as_str()) == ("", "Secret") {
                encode_texts(object);
            }
        }
        let mut hasher = DefaultHasher::new();
        value.to_string().hash(&mut hasher);
        Ok(Self {
            kind,
            namespace: child.meta().namespace.clone(),
            name,
            hash: hasher.finish(),
            value,
        })
    }

    pub(super) fn key(&self) -> (String, String) {
        (self.namespace.clone().unwrap_or_default(), self.name.clone())
    }
}

/// A Secret's `stringData` as the `data` that a server makes of it.
///
/// The server never gives `stringData` back, so that nothing live could be held against it, and every run would write.
fn encode_texts(secret: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let encoded = texts.into_iter().filter_map(|(key, text)| {
        let bytes = ByteString(text.as_str()?.as_bytes().to_vec());
        Some((key, serde_json::to_value(bytes).ok()?))
    });
    // As the server does: a text goes before data of its key.
    let mut data = match secret.remove("data") {
        Some(Value::Object(data)) => data,
        _ => Map::new(),
    };
    data.extend(encoded);
    if !data.is_empty() {
        secret.insert("data".to_owned(), Value::Object(data));
    }
}

fn requests<T: Child>(namespace: Option<&str>) -> Request {
    Request::new(T::url_path(&T::DynamicType::default(), namespace))
}

fn built(
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<http::Request<Vec<u8>>, kube::Error> {
    request.map_err(kube::Error::BuildRequest)
}

/// A 409 is also said of a wrong uid, or of an object that is being deleted.
fn is_conflict_of_managers(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 409
        && causes
            .into_iter()
            .any(|cause| cause.reason == "FieldManagerConflict")
}

/// The object is not any more what it was when it was looked at.
pub(super) fn is_outdated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

/// What came of an apply.
pub(super) struct Applied<T> {
    pub(super) answer: T,
    /// What was said of the conflict with other managers, if there was one.
    pub(super) taken: Option<String>,
}

/// Writes as one field manager.
#[derive(Clone)]
pub(super) struct Writer {
    client: Client,
    manager: String,
}

impl Writer {
    pub(super) fn new(client: Client, manager: &str) -> Self {
        Self {
            client,
            manager: manager.to_owned(),
        }
    }

    pub(super) fn manager(&self) -> &str {
        &self.manager
    }

    /// The object of this name, although no store has it: one that selectors hide, or one that is not ours.
    pub(super) async fn look_up<T: Child>(
        &self,
        desired: &Desired,
    ) -> Result<Option<PartialObjectMeta<T>>, kube::Error> {
        let request = requests::<T>(desired.namespace.as_deref()).list_metadata(&by_name(&desired.name));
        let found: ObjectList<PartialObjectMeta<T>> = self.client.request(built(request)?).await?;
        Ok(found.items.into_iter().next())
    }

    /// The object of this name as the server has it now.
    pub(super) async fn read<T: Child>(&self, desired: &Desired) -> Result<Option<T>, kube::Error> {
        let request = requests::<T>(desired.namespace.as_deref()).list(&by_name(&desired.name));
        let found: ObjectList<T> = self.client.request(built(request)?).await?;
        Ok(found.items.into_iter().next())
    }

    /// Applies over the object as it was at the version `met`; where other managers own fields, takes them over.
    pub(super) async fn apply<T: Child>(
        &self,
        desired: &Desired,
        met: Option<&str>,
    ) -> Result<Applied<T>, kube::Error> {
        let mut body = desired.value.clone();
        if let Some(version) = met {
            body["metadata"]["resourceVersion"] = version.into();
        }
        let params = PatchParams::apply(&self.manager);
        match self.patch::<T>(desired, &body, &params).await {
            Err(kube::Error::Api(conflict)) if is_conflict_of_managers(&conflict) => {
                let answer = self.patch(desired, &body, &params.force()).await?;
                let taken = Some(conflict.message.clone());
                Ok(Applied { answer, taken })
            }
            answer => answer.map(|answer| Applied { answer, taken: None }),
        }
    }

    async fn patch<T: Child>(
        &self,
        desired: &Desired,
        body: &Value,
        params: &PatchParams,
    ) -> Result<T, kube::Error> {
        let requests = requests::<T>(desired.namespace.as_deref());
        let request = requests.patch(&desired.name, params, &Patch::Apply(body));
        self.client.request(built(request)?).await
    }

    /// Deletes exactly this object. Gives it back if something holds it; `None` says that it is gone.
    pub(super) async fn delete<T: Child>(&self, meta: &ObjectMeta) -> Result<Option<T>, kube::Error> {
        let mut params = DeleteParams::background();
        params.preconditions = Some(Preconditions {
            uid: meta.uid.clone(),
            ..Preconditions::default()
        });
        let name = meta.name.as_deref().unwrap_or_default();
        let request = requests::<T>(meta.namespace.as_deref()).delete(name, &params);
        let answer = self.client.request_status::<T>(built(request)?).await?;
        // A server may answer with the object as it was; then it is gone.
        Ok(answer
            .left()
            .filter(|object| object.meta().deletion_timestamp.is_some()))
    }
}
