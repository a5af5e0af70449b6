//! A field of the results that no code writes is a promise that nobody keeps: each of
//! docs/results.schema.json is in the results of some run.

use std::collections::BTreeSet;

use serde_json::Value;

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.schema.json");

/// The schema, and which of its properties were met, by their JSON pointers.
pub(crate) struct Fields {
    schema: Value,
    met: BTreeSet<String>,
}

impl Fields {
    pub(crate) fn read() -> Fields {
        let schema = std::fs::read_to_string(SCHEMA).expect("the schema");
        Fields { schema: serde_json::from_str(&schema).expect("JSON"), met: BTreeSet::new() }
    }

    /// Adds the causes that the results have.
    pub(crate) fn add(&mut self, results: &Value) {
        self.walk("", results);
    }

    /// The causes that none of them had.
    pub(crate) fn unmet(&self) -> Vec<String> {
        let mut all = Vec::new();
        properties(&self.schema, "", &mut all);
        all.into_iter().filter(|pointer| !self.met.contains(pointer)).collect()
    }

    fn walk(&mut self, at: &str, value: &Value) {
        let Some(schema) = self.schema.pointer(at) else { return };
        if let Some(elsewhere) = schema["$ref"].as_str() {
            let there = elsewhere.trim_start_matches('#').to_owned();
            self.walk(&there, value);
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let property = format!("{at}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
                    if self.schema.pointer(&property).is_some() {
                        self.met.insert(property.clone());
                        self.walk(&property, value);
                    } else {
                        self.walk(&format!("{at}/additionalProperties"), value);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.walk(&format!("{at}/items"), item);
                }
            }
            _ => {}
        }
    }
}

fn properties(schema: &Value, at: &str, all: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, inside) in fields {
                let here = format!("{at}/{name}");
                if at.ends_with("/properties") {
                    all.push(here.clone());
                }
                properties(inside, &here, all);
            }
        }
        Value::Array(items) => {
            for (i, inside) in items.iter().enumerate() {
                properties(inside, &format!("{at}/{i}"), all);
            }
        }
        _ => {}
    }
}
