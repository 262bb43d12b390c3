//! What runtime and server promise together: a module for each guarantee.

mod leader;
