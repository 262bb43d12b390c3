//! controller-macros
