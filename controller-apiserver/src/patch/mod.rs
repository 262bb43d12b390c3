//! The four patch formats: JSON patch, merge patch, strategic merge and server-side apply.
