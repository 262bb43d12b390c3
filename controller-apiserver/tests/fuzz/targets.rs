//! What an input is given to, and what must hold of the answer.

use bytes::Bytes;
use controller_apiserver::Server;
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Path,
    Patch,
    Selector,
    Schema,
    FieldPath,
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/x.io/v1/namespaces/default/widgets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

impl Target {
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "paths",
            Self::Patch => "patches",
            Self::Selector => "selectors",
            Self::Schema => "schemas",
            Self::FieldPath => "field-paths",
        }
    }

    /// A line that says what is done, and a document.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Patch | Self::Schema | Self::FieldPath)
    }

    /// Words that mean something here.
    pub fn dictionary(self) -> Vec<&'static str> {
        let words = match self {
            Self::Path => concat!(
                "/¦//¦..¦%2F¦%00¦%¦?¦&¦=¦api¦apis¦v1¦apps¦namespaces¦default¦pods¦status¦scale¦watch¦watch=true¦",
                "limit=1¦continue=¦resourceVersion=0¦resourceVersionMatch=Exact¦sendInitialEvents=true¦",
                "fieldSelector=¦labelSelector=¦dryRun=All¦fieldManager=m¦timeoutSeconds=1¦GET ¦DELETE ¦PATCH ¦",
                "openapi¦v2¦v3¦-1¦é",
            ),
            Self::Patch => concat!(
                "$patch¦replace¦delete¦merge¦$setElementOrder/containers¦$deleteFromPrimitiveList/finalizers¦",
                "$retainKeys¦op¦path¦from¦value¦add¦remove¦test¦move¦copy¦/spec/-¦~1¦~0¦-¦0¦metadata¦name¦labels¦",
                "annotations¦finalizers¦ownerReferences¦managedFields¦deletionTimestamp¦generation¦resourceVersion¦",
                "uid¦spec¦status¦data¦template¦containers¦ports¦a¦json w¦merge d¦strategic d¦apply w¦apply m¦status¦",
                "scale¦apiVersion¦kind",
            ),
            Self::Selector => concat!(
                "=¦==¦!=¦!¦ in ¦ notin ¦(¦)¦,¦<¦>¦a¦b/c¦metadata.name¦metadata.namespace¦status.phase¦spec.nodeName¦",
                "\\¦\n¦é¦-¦.¦1",
            ),
            Self::Schema => concat!(
                "type¦object¦array¦string¦integer¦number¦boolean¦properties¦items¦additionalProperties¦required¦enum¦",
                "default¦nullable¦format¦pattern¦(a+)+$¦[¦minimum¦maxLength¦maxItems¦minProperties¦multipleOf¦",
                "uniqueItems¦oneOf¦anyOf¦allOf¦not¦x-kubernetes-validations¦rule¦self¦self.a == oldSelf.a¦",
                "self.all(x, x > 1)¦messageExpression¦fieldPath¦.a¦reason¦optionalOldSelf¦",
                "x-kubernetes-preserve-unknown-fields¦x-kubernetes-int-or-string¦x-kubernetes-embedded-resource¦",
                "x-kubernetes-list-type¦x-kubernetes-list-map-keys¦map¦set¦atomic¦x-kubernetes-map-type¦granular¦",
                "$ref¦a¦b¦spec¦status¦metadata¦date-time",
            ),
            Self::FieldPath => concat!(
                "f:spec¦f:a¦f:¦.¦k:{\"a\":1}¦k:{}¦k:¦v:1¦v:\"x\"¦v:¦i:0¦i:-1¦f:metadata¦f:labels¦f:finalizers¦",
                "f:status¦f:list¦columns w¦fields w¦fields m¦.spec.a¦[*]¦[?(@.a=='x')]¦[0:2]¦..¦{¦}¦'¦[¦]¦\\¦$¦@¦",
                "range¦end",
            ),
        };
        words.split('¦').collect()
    }
}

/// A server with something in it.
pub struct World(Server);

struct Reply {
    code: u16,
    body: Value,
}

impl World {
    pub async fn new() -> Self {
        let world = Self(Server::new());
        let reply = world
            .ask("POST", DEFINITIONS, JSON, definition(&open_schema()))
            .await;
        assert_eq!(reply.code, 201, "{}", reply.body);
        world
    }

    /// Gives an input to a target; tells what kind of answer came.
    pub async fn answer(&mut self, target: Target, input: &str) -> String {
        let (head, document) = input.split_once('\n').unwrap_or((input, ""));
        match target {
            Target::Path => self.path(head, document).await,
            Target::Patch => self.patch(head, document).await,
            Target::Selector => self.selector(head, document).await,
            Target::Schema => self.schema(head, document).await,
            Target::FieldPath => self.field_path(head, document).await,
        }
    }

    async fn ask(&self, method: &str, path: &str, media: &str, body: impl ToString) -> Reply {
        let body = body.to_string();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", media)
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        self.send(request).await
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Reply {
        let what = format!("{} {}", request.method(), request.uri());
        let head = request.method() == Method::HEAD;
        let answer = self.0.service().oneshot(request).await.unwrap();
        let code = answer.status().as_u16();
        let content_type = answer.headers().get("content-type").cloned();
        let watches = content_type.is_none() || what.contains("watch");
        let bytes = if watches && code == 200 {
            // A stream may have no end.
            Bytes::new()
        } else {
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let is_json = content_type.is_some_and(|media| media == "application/json");
        assert!((200..600).contains(&code), "{what}: {code}");
        if is_json && code >= 400 && !head {
            assert_eq!(body["kind"], "Status", "{what}: {body}");
            assert_eq!(body["code"], code, "{what}: {body}");
            assert!(body["message"].is_string(), "{what}: {body}");
        }
        Reply { code, body }
    }

    /// What is stored can be read, and written back as it is, which changes nothing.
    async fn check(&self, item: &str, input: &str) {
        let read = self.ask("GET", item, JSON, "").await;
        if read.code == 404 {
            return;
        }
        assert_eq!(read.code, 200, "{input:?}: {}", read.body);
        let same = self.ask("PUT", item, JSON, &read.body).await;
        assert_eq!(same.code, 200, "{input:?}: {} of {}", same.body, read.body);
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        assert_eq!(
            version(&same.body),
            version(&read.body),
            "{input:?}: {}",
            read.body
        );
    }

    async fn path(&self, head: &str, body: &str) -> String {
        let (method, place) = head.split_once(' ').unwrap_or(("GET", head));
        let (Ok(method), Ok(uri)) = (Method::from_bytes(method.as_bytes()), place.parse::<Uri>()) else {
            return "no request".to_owned();
        };
        let request = Request::builder().method(method).uri(uri);
        let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))) else {
            return "no request".to_owned();
        };
        kind_of(&self.send(request).await)
    }

    async fn patch(&self, head: &str, body: &str) -> String {
        let media = match head.split(' ').next().unwrap_or_default() {
            "json" => "application/json-patch+json",
            "strategic" => "application/strategic-merge-patch+json",
            "apply" => "application/apply-patch+yaml",
            _ => "application/merge-patch+json",
        };
        let (collection, object) = Self::sample(head);
        let item = format!("{collection}/a");
        self.ask("POST", collection, JSON, &object).await;
        let subresource = ["status", "scale"]
            .into_iter()
            .find(|name| head.ends_with(name))
            .map_or(String::new(), |name| format!("/{name}"));
        let path = format!("{item}{subresource}?fieldManager=fuzz");
        let reply = self.ask("PATCH", &path, media, body).await;
        self.check(&item, &format!("{head}\n{body}")).await;
        self.remove(&item).await;
        format!("{media} {collection}{subresource} {}", kind_of(&reply))
    }

    /// A collection, and an object of it named `a`.
    fn sample(head: &str) -> (&'static str, Value) {
        match head.split(' ').nth(1).unwrap_or_default() {
            "w" => (
                WIDGETS,
                widget(&json!({"a": 1, "list": [{"k": "x", "v": 1}], "set": ["p"]})),
            ),
            "d" => {
                let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
                    {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "1"}]},
                ]}});
                let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": pod});
                (DEPLOYMENTS, json!({"metadata": {"name": "a"}, "spec": spec}))
            }
            _ => (
                MAPS,
                json!({"metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"k": "v"}}),
            ),
        }
    }

    async fn remove(&self, item: &str) {
        let patch = json!({"metadata": {"finalizers": null}});
        self.ask("DELETE", item, JSON, "").await;
        self.ask("PATCH", item, "application/merge-patch+json", patch)
            .await;
    }

    async fn selector(&self, labels: &str, fields: &str) -> String {
        self.ask(
            "POST",
            MAPS,
            JSON,
            json!({"metadata": {"name": "a", "labels": {"a": "1"}}}),
        )
        .await;
        let query = format!(
            "labelSelector={}&fieldSelector={}",
            escape(labels),
            escape(fields)
        );
        let list = self.ask("GET", &format!("{MAPS}?{query}"), JSON, "").await;
        let watch = self
            .ask("GET", &format!("{MAPS}?{query}&watch=true"), JSON, "")
            .await;
        assert_eq!(list.code, watch.code, "{query}");
        kind_of(&list)
    }

    async fn schema(&self, head: &str, document: &str) -> String {
        let schema: Value = serde_json::from_str(document).unwrap_or_default();
        let name = format!("{DEFINITIONS}/gadgets.x.io");
        let mut definition = definition(&schema);
        definition["metadata"]["name"] = "gadgets.x.io".into();
        definition["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
        let made = self.ask("POST", DEFINITIONS, JSON, &definition).await;
        let mut answer = kind_of(&made);
        if made.code == 201 {
            // What the schema says of itself, as a value: as good as any.
            let object = json!({"apiVersion": "x.io/v1", "kind": "Gadget", "metadata": {"name": "a"},
                "spec": serde_json::from_str(head).unwrap_or(schema)});
            let gadgets = "/apis/x.io/v1/namespaces/default/gadgets";
            let created = self.ask("POST", gadgets, JSON, &object).await;
            answer = format!("{answer} {}", kind_of(&created));
            self.check(&format!("{gadgets}/a"), &format!("{head}\n{document}"))
                .await;
            self.ask("DELETE", &name, JSON, "").await;
            self.0.settle().await.unwrap();
        }
        answer
    }

    async fn field_path(&self, head: &str, document: &str) -> String {
        if head.starts_with("columns") {
            let mut definition = definition(&open_schema());
            let column = json!({"name": "C", "type": "string", "jsonPath": document});
            definition["metadata"]["name"] = "gadgets.x.io".into();
            definition["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
            definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([column]);
            let made = self.ask("POST", DEFINITIONS, JSON, &definition).await;
            self.ask("DELETE", &format!("{DEFINITIONS}/gadgets.x.io"), JSON, "")
                .await;
            self.0.settle().await.unwrap();
            return format!("columns {}", kind_of(&made));
        }
        let (collection, mut object) = Self::sample(head);
        let item = format!("{collection}/a");
        let fields: Value = serde_json::from_str(document).unwrap_or_default();
        object["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1",
            "apiVersion": object["apiVersion"].as_str().unwrap_or("v1"), "fieldsV1": fields}]);
        let made = self.ask("POST", collection, JSON, &object).await;
        let applied = json!({"apiVersion": object["apiVersion"].as_str().unwrap_or("v1"),
            "kind": object["kind"].as_str().unwrap_or("ConfigMap"), "metadata": {"name": "a"}});
        let path = format!("{item}?fieldManager=m&force=true");
        let reply = self
            .ask("PATCH", &path, "application/apply-patch+yaml", &applied)
            .await;
        self.check(&item, &format!("{head}\n{document}")).await;
        self.remove(&item).await;
        format!("{collection} {} {}", kind_of(&made), kind_of(&reply))
    }
}

const JSON: &str = "application/json";

fn open_schema() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "a": {"type": "integer", "default": 1},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
                "type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
            }},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        }},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }})
}

fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

/// The code of an answer, and the first words of what it says, without what is quoted.
fn kind_of(reply: &Reply) -> String {
    let message = reply.body["message"].as_str().unwrap_or_default();
    let plain: String = message
        .split(['"', '\''])
        .step_by(2)
        .flat_map(str::chars)
        .filter(|c| c.is_ascii_alphabetic() || *c == ' ')
        .take(60)
        .collect();
    format!("{} {} {plain}", reply.code, reply.body["kind"])
}

fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::new();
    for byte in text.bytes() {
        write!(escaped, "%{byte:02X}").unwrap();
    }
    escaped
}
