//! An Event for an object that runs in circles, where the controller may publish Events.
//!
//! Who reads `kubectl describe` sees which field flaps. A controller that takes no `Recorder` has no right to publish;
//! for it the log, the metric and `/debug` say so.

use std::sync::Arc;

use super::recorder::{Publisher, Recorder};
use crate::{
    declare::{Declaration, Environment},
    explain::Explainer,
    object::{Object, ObjectRef},
    runner::{Circle, Event, Gauge, Observer},
    store::Store,
};

/// Who hears what the controller tells: the manager's observer, and whoever publishes Events of it.
pub(super) fn telling<K: Object>(
    environment: &Environment,
    declaration: &Declaration,
    publisher: &Arc<Publisher>,
    primaries: &Store<K>,
) -> Arc<dyn Observer> {
    let next = Arc::clone(&environment.observer);
    if !declaration.uses.events {
        return next;
    }
    Arc::new(Circles {
        next,
        publisher: Arc::clone(publisher),
        primaries: primaries.clone(),
    })
}

/// Hears what the controller tells, and passes it on.
struct Circles<K: Object> {
    next: Arc<dyn Observer>,
    publisher: Arc<Publisher>,
    primaries: Store<K>,
}

impl<K: Object> Circles<K> {
    fn publish(&self, circle: &Circle<'_>) {
        let kind = self.primaries.dyntype();
        let mut key = ObjectRef::<K>::new_with(circle.object.name, kind.clone());
        key.namespace = circle.object.namespace.map(str::to_owned);
        let Some(object) = self.primaries.get(&key) else {
            return;
        };
        let recorder = Recorder::of(Arc::clone(&self.publisher), object.object_ref(kind));
        let note = note(circle);
        tokio::spawn(async move { recorder.warning("HotLoop", &note).await });
    }
}

impl<K: Object> Observer for Circles<K> {
    fn observe(&self, controller: &str, event: &Event<'_>) {
        if let Event::Circle(circle) = event {
            self.publish(circle);
        }
        self.next.observe(controller, event);
    }

    fn queue(&self, controller: &str, gauge: &Gauge) {
        self.next.queue(controller, gauge);
    }

    fn explainer(&self, controller: &str, explainer: &Explainer) {
        self.next.explainer(controller, explainer);
    }
}

fn note(circle: &Circle<'_>) -> String {
    let fields: Vec<_> = circle.fields.iter().map(ToString::to_string).collect();
    let fields = if fields.is_empty() {
        "which field changes is not known".to_owned()
    } else {
        fields.join("; ")
    };
    format!(
        "Ran {} times in a row, each time because of a change that answered the run before: {fields}. It is slowed until that ends.",
        circle.cycles
    )
}
