//! Results to text, Markdown, CSV and JSON.
