//! A JSON Schema, and what a value has that it does not allow.

#![allow(unreachable_pub, reason = "unit tests of two crates take it as a module of theirs")]

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// # Panics
    ///
    /// If the text is no schema by the meta-schema that it names.
    pub fn new(text: &str) -> Self {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("schema.json", serde_json::from_str(text).unwrap()).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    /// Each place of the value that the schema does not allow, and why.
    pub fn faults(&self, value: &Value) -> Option<String> {
        self.schemas.validate(value, self.index).err().map(|error| error.to_string())
    }
}
