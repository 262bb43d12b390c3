//! Lists of a strategic merge patch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Member, Merger, Outcome, PATCH, PatchError, SET_ORDER, bad_directive, go_text, go_type,
    without_directives,
};
use crate::patch::typed::Type;

/// Whether the elements of lists are objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elements {
    Objects,
    Scalars,
}

impl Merger<'_> {
    pub(super) fn lists(&self, old: Vec<Value>, new: Vec<Value>, member: &Member<'_>) -> Outcome<Vec<Value>> {
        let element = self.element(member)?;
        if !member.patch.merge {
            return Ok(new);
        }
        if old.is_empty() && new.is_empty() {
            return Ok(old);
        }
        let elements = elements_of(&[&old, &new])?;
        let key = member.patch.merge_key.as_deref().unwrap_or_default();
        let (old, new, merged) = match elements {
            Elements::Scalars => {
                let mut seen = BTreeSet::new();
                let both = old.iter().chain(&new).cloned();
                let merged = both.filter(|value| seen.insert(value.to_string())).collect();
                (old, new, merged)
            }
            Elements::Objects if key.is_empty() => {
                let text = "cannot merge lists without merge key for struct";
                return Err(PatchError::Internal(text.to_owned()));
            }
            Elements::Objects => {
                let (old, new) = special_elements(old, new, key)?;
                let merged = self.objects(old.clone(), &new, key, element)?;
                (old, new, merged)
            }
        };
        let (patched, live) = partition(merged, &new, key)?;
        in_order(patched, live, &new, &old, key, elements)
    }

    /// The type of the elements, if they are objects.
    fn element<'s>(&'s self, member: &Member<'s>) -> Outcome<&'s Type> {
        match &member.ty.list {
            Some(list) => Ok(self.schema.get(list.element)),
            None => Err(PatchError::Internal(
                "expected slice or array type, but got: struct".to_owned(),
            )),
        }
    }

    fn objects(&self, mut merged: Vec<Value>, new: &[Value], key: &str, ty: &Type) -> Outcome<Vec<Value>> {
        let mut places = Places::of(&merged, key);
        for element in new {
            let place = key_of(element, key)?.to_string();
            let Some(index) = places.0.get(&place) else {
                places.0.insert(place, merged.len());
                merged.push(element.clone());
                continue;
            };
            let slot = &mut merged[*index];
            if let (Value::Object(old), Value::Object(new)) = (slot.take(), element) {
                *slot = Value::Object(self.maps(old, new.clone(), Some(ty))?);
            }
        }
        Ok(merged)
    }

    /// A list whose order is given. `None` if neither side has the list.
    pub(super) fn ordered(
        &self,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        order: &[Value],
        member: &Member<'_>,
    ) -> Outcome<Option<Vec<Value>>> {
        let key = member.patch.merge_key.as_deref().unwrap_or_default();
        self.element(member)?;
        check_order(new.as_deref().unwrap_or_default(), order, key)?;
        let live = old.clone().unwrap_or_default();
        let given = new.clone().unwrap_or_default();
        let merged = match (old, new) {
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) => self.lists(old, new, member)?,
            (None, None) => return Ok(None),
        };
        let (patched, kept) = partition(merged, order, key)?;
        let elements = elements_of(&[&live, &given])?;
        in_order(patched, kept, order, &live, key, elements).map(Some)
    }

    /// `$deleteFromPrimitiveList`: whatever the strategy of the list is.
    pub(super) fn deleted(
        &self,
        old: Vec<Value>,
        deleted: Vec<Value>,
        member: &Member<'_>,
    ) -> Outcome<Vec<Value>> {
        if old.is_empty() && deleted.is_empty() {
            return Ok(old);
        }
        if elements_of(&[&old, &deleted])? == Elements::Objects {
            let patch = crate::patch::typed::PatchStrategy {
                merge: true,
                ..member.patch.clone()
            };
            let member = Member { patch, ..*member };
            return self.lists(old, deleted, &member);
        }
        let deleted: BTreeSet<String> = deleted.iter().map(Value::to_string).collect();
        let kept = old.into_iter();
        Ok(kept
            .filter(|value| !deleted.contains(&value.to_string()))
            .collect())
    }
}

/// Where elements stand, by the text of their key; the first of several counts.
struct Places(BTreeMap<String, usize>);

impl Places {
    fn of(list: &[Value], key: &str) -> Self {
        let mut places = BTreeMap::new();
        for (index, element) in list.iter().enumerate() {
            if let Some(text) = Self::text(element, key) {
                places.entry(text).or_insert(index);
            }
        }
        Self(places)
    }

    fn text(element: &Value, key: &str) -> Option<String> {
        if key.is_empty() {
            return Some(element.to_string());
        }
        element.get(key).map(Value::to_string)
    }

    fn get(&self, element: &Value, key: &str) -> Option<usize> {
        self.0.get(&Self::text(element, key)?).copied()
    }
}

/// What all elements are. Lists of lists, and lists of several types, cannot be merged.
fn elements_of(lists: &[&[Value]]) -> Outcome<Elements> {
    let mut first: Option<&Value> = None;
    for element in lists.iter().copied().flatten() {
        match first {
            None if element.is_array() => {
                let text = "lists of lists are not supported";
                return Err(PatchError::Rejected(text.to_owned()));
            }
            None => first = Some(element),
            Some(first) if go_type(first) == go_type(element) => {}
            Some(_) => {
                let lists: Vec<Value> = lists.iter().map(|list| Value::from(list.to_vec())).collect();
                let text = go_text(&Value::from(lists));
                let text = format!("list element types are not identical: {text}");
                return Err(PatchError::Internal(text));
            }
        }
    }
    match first {
        Some(Value::Object(_)) => Ok(Elements::Objects),
        Some(_) => Ok(Elements::Scalars),
        None => {
            let text = "no elements in any of the given slices";
            Err(PatchError::Internal(text.to_owned()))
        }
    }
}

fn key_of<'v>(element: &'v Value, key: &str) -> Outcome<&'v Value> {
    element.get(key).ok_or_else(|| {
        let element = go_text(element);
        PatchError::Internal(format!(
            "map: {element} does not contain declared merge key: {key}"
        ))
    })
}

/// Carries out and takes away elements with `$patch`.
fn special_elements(old: Vec<Value>, new: Vec<Value>, key: &str) -> Outcome<(Vec<Value>, Vec<Value>)> {
    let mut deleted = BTreeSet::new();
    let mut replace = false;
    let mut plain = Vec::new();
    for element in new {
        let Some(directive) = element.get(PATCH) else {
            plain.push(element);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                deleted.insert(key_of(&element, key)?.to_string());
            }
            Some("replace") => replace = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Internal(text.to_owned()));
            }
            _ => {
                let members = element.as_object().cloned().unwrap_or_default();
                return Err(bad_directive(directive, &members));
            }
        }
    }
    if replace {
        return Ok((plain, Vec::new()));
    }
    let kept = old.into_iter().filter(|element| {
        let text = element.get(key).map(Value::to_string);
        text.is_none_or(|text| !deleted.contains(&text))
    });
    Ok((kept.collect(), plain))
}

/// Elements that `by` names, and the rest.
fn partition(list: Vec<Value>, by: &[Value], key: &str) -> Outcome<(Vec<Value>, Vec<Value>)> {
    let places = Places::of(by, key);
    if !key.is_empty() {
        for element in &list {
            key_of(element, key)?;
        }
    }
    let named = |element: &Value| places.get(element, key).is_some();
    Ok(list.into_iter().partition(named))
}

/// The patched elements in the order of the patch, between the live ones in theirs.
fn in_order(
    mut patched: Vec<Value>,
    mut live: Vec<Value>,
    patch_order: &[Value],
    live_order: &[Value],
    key: &str,
    elements: Elements,
) -> Outcome<Vec<Value>> {
    if elements == Elements::Objects {
        for element in patch_order.iter().chain(live_order) {
            key_of(element, key)?;
        }
    }
    let patch_places = Places::of(patch_order, key);
    let live_places = Places::of(live_order, key);
    patched.sort_by_key(|element| patch_places.get(element, key));
    live.sort_by_key(|element| live_places.get(element, key));
    let mut merged = Vec::with_capacity(patched.len() + live.len());
    let mut patched = patched.into_iter().peekable();
    for element in live {
        let place = live_places.get(&element, key);
        // A live element comes before a patched one only if it did so in the live list.
        while let Some(next) = patched.peek() {
            let next_place = live_places.get(next, key);
            if place.is_some() && next_place.is_some() && place < next_place {
                break;
            }
            merged.extend(patched.next());
        }
        merged.push(element);
    }
    merged.extend(patched);
    Ok(merged)
}

/// The elements of the patch, less deletions, must be named in the order, in that order.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Outcome {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let wanted: Vec<&Value> = patch
        .iter()
        .filter(|element| key.is_empty() || element.get(PATCH).is_none())
        .collect();
    let same = |left: &Value, right: &Value| -> Outcome<bool> {
        if key.is_empty() {
            return Ok(left == right);
        }
        Ok(key_of(left, key)? == key_of(right, key)?)
    };
    let mut found = 0;
    for place in order {
        match wanted.get(found) {
            Some(element) if same(element, place)? => found += 1,
            Some(_) => {}
            None => return Ok(()),
        }
    }
    if found == wanted.len() {
        return Ok(());
    }
    let (patch, order) = (Value::from(patch.to_vec()), Value::from(order.to_vec()));
    Err(PatchError::Internal(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
        go_text(&patch),
        go_text(&order)
    )))
}
