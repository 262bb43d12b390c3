//! What users read.
