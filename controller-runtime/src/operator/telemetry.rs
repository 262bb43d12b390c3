//! Where log lines and spans go: lines to standard error, spans to an OpenTelemetry collector if the feature `otel` is on and a collector is named.

use tracing_subscriber::{
    EnvFilter, Layer as _, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use super::{OperatorError, Stop};

/// What has to be ended with the process.
pub(super) struct Telemetry {
    #[cfg(feature = "otel")]
    spans: Option<crate::otel::Spans>,
}

impl Telemetry {
    /// From now on lines and spans go where they should. A program that has set up its own logging before keeps it.
    ///
    /// # Errors
    /// When the variables of OpenTelemetry ask for what cannot be done.
    #[cfg_attr(not(feature = "otel"), expect(unused_variables, clippy::unnecessary_wraps))]
    pub(super) fn start(name: &str, version: &str, json: bool) -> Result<Self, OperatorError> {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
        let lines = fmt::layer().with_writer(std::io::stderr);
        let lines = if json {
            lines.json().boxed()
        } else {
            let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
            lines.with_ansi(colours).boxed()
        };
        let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
        #[cfg(feature = "otel")]
        let spans = crate::otel::Spans::from_environment(name, version).map_err(OperatorError::Telemetry)?;
        #[cfg(feature = "otel")]
        let subscriber = subscriber.with(spans.as_ref().map(crate::otel::Spans::layer));
        let _ = subscriber.try_init();
        Ok(Self {
            #[cfg(feature = "otel")]
            spans,
        })
    }

    /// Sends the spans that have not been sent, within a limit, and until someone asks to stop for the second time.
    #[cfg_attr(not(feature = "otel"), expect(clippy::unused_async, unused_variables))]
    pub(super) async fn end(self, stop: &Stop) {
        #[cfg(feature = "otel")]
        if let Some(spans) = self.spans {
            tokio::select! {
                biased;
                () = stop.second() => {}
                () = spans.end() => {}
            }
        }
    }
}
