//! Spans to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Switched on by the variables that every SDK knows (OpenTelemetry specification, "Environment Variable Specification" and "OTLP Exporter"): where
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or its form for traces names a collector. Spans wait in a bounded queue and are sent by a thread of their own, in batches;
//! what finds no room is dropped, so that a collector that is away costs no reconcile anything.
//!
//! Not promised: that every span arrives. Those that wait at the end are sent within [`LIMIT`].

mod transport;

use std::{env, time::Duration};

use opentelemetry::{
    KeyValue,
    trace::{TraceContextExt as _, TraceId, TracerProvider as _},
};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing::{Span, Subscriber, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, registry::LookupSpan};

/// So long the end of the process waits for spans to be sent.
const LIMIT: Duration = Duration::from_secs(2);
/// What collectors take, and what is spoken here.
const PROTOCOL: &str = "http/protobuf";

/// The way of spans to a collector.
pub(crate) struct Spans {
    provider: SdkTracerProvider,
}

impl Spans {
    /// The way that the environment names, if it names one. Needs a runtime of tokio.
    ///
    /// # Errors
    /// When it asks for what cannot be done; the text says which variable.
    pub(crate) fn from_environment(name: &str, version: &str) -> Result<Option<Self>, String> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        if !is_wanted(variable)? {
            return Ok(None);
        }
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(transport::client(limit_of_requests(variable)?)?)
            .build()
            .map_err(|error| error.to_string())?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource(name, version))
            .build();
        Ok(Some(Self { provider }))
    }

    /// What hands spans and their events over: of level `info` and above, whatever the log shows.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("controller-runtime"))
            .with_location(false)
            .with_threads(false)
            .with_filter(LevelFilter::INFO)
    }

    /// Sends what waits, within the limit.
    ///
    /// # Cancel safety
    /// Dropping the future waits for nothing more.
    pub(crate) async fn end(self) {
        let (done, ended) = tokio::sync::oneshot::channel();
        // A thread of its own: the runtime has to turn meanwhile, and waits for those of its own when it ends.
        std::thread::spawn(move || {
            // Nobody listens any more if the process is in a hurry.
            let _ = done.send(self.provider.shutdown_with_timeout(LIMIT));
        });
        if let Ok(Err(error)) = ended.await {
            tracing::warn!(%error, "spans that were not sent are lost");
        }
    }
}

/// Writes the number of its trace into a span, so that log lines lead to it; nothing if spans are not sent.
pub(crate) fn name_trace(span: &Span) {
    let context = span.context();
    let trace = context.span().span_context().trace_id();
    if trace != TraceId::INVALID {
        span.record("trace_id", tracing::field::display(trace));
    }
}

/// Whether the environment names a collector that can be spoken to.
fn is_wanted(variable: impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(false);
    }
    let endpoint = for_traces(&variable, "ENDPOINT");
    let wanted = match variable("OTEL_TRACES_EXPORTER").as_deref() {
        None => endpoint.is_some(),
        Some("none") => false,
        Some("otlp") => true,
        Some(other) => {
            return Err(format!(
                "OTEL_TRACES_EXPORTER is {other:?}: set it to \"otlp\" or \"none\""
            ));
        }
    };
    match for_traces(&variable, "PROTOCOL") {
        Some((name, protocol)) if wanted && protocol != PROTOCOL => Err(format!(
            "{name} is {protocol:?}: set it to {PROTOCOL:?}, and the endpoint to the collector's port for HTTP, which is 4318 by default"
        )),
        _ => Ok(wanted),
    }
}

/// How long a request to the collector may take.
fn limit_of_requests(variable: impl Fn(&str) -> Option<String>) -> Result<Duration, String> {
    let Some((name, value)) = for_traces(variable, "TIMEOUT") else {
        return Ok(opentelemetry_otlp::OTEL_EXPORTER_OTLP_TIMEOUT_DEFAULT);
    };
    let milliseconds = value.parse();
    let milliseconds =
        milliseconds.map_err(|_| format!("{name} is {value:?}: set it to a number of milliseconds"))?;
    Ok(Duration::from_millis(milliseconds))
}

/// A variable of the exporter: that for traces goes before that for all signals.
fn for_traces(variable: impl Fn(&str) -> Option<String>, what: &str) -> Option<(String, String)> {
    ["OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"]
        .iter()
        .find_map(|prefix| {
            let name = format!("{prefix}{what}");
            variable(&name).map(|value| (name, value))
        })
}

/// Who sends: as the environment says, else the operator.
fn resource(name: &str, version: &str) -> Resource {
    let named = Resource::builder().build();
    let service = named.get(&"service.name".into());
    let unknown = service.is_none_or(|service| service.as_str().starts_with("unknown_service"));
    let mut resource =
        Resource::builder().with_attribute(KeyValue::new("service.version", version.to_owned()));
    if unknown {
        resource = resource.with_service_name(name.to_owned());
    }
    resource.build()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn with<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + Copy + use<'a> {
        move |name| {
            let variables: BTreeMap<_, _> = variables.iter().copied().collect();
            variables.get(name).map(|value| (*value).to_owned())
        }
    }

    #[test]
    fn spans_are_sent_where_the_variables_name_a_collector() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        let for_traces = (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://collector:4318/v1/traces",
        );
        for (variables, wanted) in [
            (&[][..], false),
            (&[endpoint], true),
            (&[for_traces], true),
            (&[endpoint, ("OTEL_SDK_DISABLED", "True")], false),
            (&[endpoint, ("OTEL_TRACES_EXPORTER", "none")], false),
            (&[("OTEL_TRACES_EXPORTER", "otlp")], true),
            (
                &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
                true,
            ),
            (&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], false),
        ] {
            assert_eq!(is_wanted(with(variables)), Ok(wanted), "{variables:?}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_said_with_the_variable() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
        let grpc = [endpoint, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")];
        let said = is_wanted(with(&grpc)).unwrap_err();
        assert!(
            said.starts_with("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is \"grpc\""),
            "{said}"
        );
        assert!(said.contains("4318"), "{said}");
        let zipkin = [endpoint, ("OTEL_TRACES_EXPORTER", "zipkin")];
        assert!(is_wanted(with(&zipkin)).unwrap_err().contains("zipkin"));
        let soon = [("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")];
        assert!(
            limit_of_requests(with(&soon))
                .unwrap_err()
                .contains("milliseconds")
        );
        let both = [
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "7"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "5"),
        ];
        assert_eq!(limit_of_requests(with(&both)), Ok(Duration::from_millis(5)));
    }
}
