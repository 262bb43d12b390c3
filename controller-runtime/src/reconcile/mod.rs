//! What a reconcile function is to the runtime.
