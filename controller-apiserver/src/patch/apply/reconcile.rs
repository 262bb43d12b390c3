//! Ownership that was recorded under another schema: a map or list that has become atomic is owned
//! as a whole by whoever owned something in it.

use crate::patch::{
    fields::{Element, Set},
    typed::{ListKind, Map, Schema, Type},
};

/// The set as it would have been recorded under the schema of today.
pub(super) fn reconcile(schema: &Schema, set: &Set) -> Set {
    let mut changes = Changes {
        schema,
        path: Vec::new(),
        whole: Set::default(),
    };
    changes.node(schema.root(), Some(set), false);
    if changes.whole.is_empty() {
        return set.clone();
    }
    set.recursive_difference(&changes.whole).union(&changes.whole)
}

struct Changes<'s> {
    schema: &'s Schema,
    path: Vec<Element>,
    /// Nodes that are now owned as a whole.
    whole: Set,
}

impl Changes<'_> {
    /// `is_leaf`: the node is in the set and nothing below it is.
    fn node(&mut self, ty: &Type, below: Option<&Set>, is_leaf: bool) {
        match ty {
            Type { map: Some(map), .. } => self.map(map, below, is_leaf),
            Type {
                scalar: None,
                list: Some(list),
                ..
            } => {
                if list.kind == ListKind::Atomic {
                    if !is_leaf {
                        self.whole.insert(&self.path);
                    }
                    return;
                }
                self.children(below, |_| Some(list.element));
            }
            _ => {}
        }
    }

    fn map(&mut self, map: &Map, below: Option<&Set>, is_leaf: bool) {
        let untyped = |ty: &Type| ty.scalar.is_some() && ty.map.is_some();
        let element = map.element.map(|ty| self.schema.get(ty));
        if map.fields.is_empty() && element.is_some_and(untyped) {
            return;
        }
        if map.atomic {
            if !is_leaf && below.is_some_and(|below| !below.is_empty()) {
                self.whole.insert(&self.path);
            }
            return;
        }
        self.children(below, |element| match element {
            Element::Field(name) => map.member(name),
            _ => map.element,
        });
    }

    fn children(
        &mut self,
        below: Option<&Set>,
        ty: impl Fn(&Element) -> Option<crate::patch::typed::TypeId>,
    ) {
        let Some(below) = below else { return };
        for element in below.nodes() {
            let Some(ty) = ty(element) else { continue };
            let child = below.child(element);
            let is_leaf = below.has(element) && child.is_none();
            self.path.push(element.clone());
            self.node(self.schema.get(ty), child, is_leaf);
            self.path.pop();
        }
    }
}
