//! Schemas of kinds: what is pruned, defaulted, validated, and how lists and maps merge.
