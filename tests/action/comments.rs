//! A GitHub of our own, with the comments of one pull request.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::endpoint::{Request, endpoint};

/// A pull request's comments, at a GitHub that has them.
#[derive(Clone, Default)]
pub(crate) struct Comments(Arc<Mutex<Vec<String>>>);

impl Comments {
    /// The API's address.
    pub(crate) fn served(&self) -> String {
        let comments = self.clone();
        let (address, taken) = endpoint(move |request| comments.answer(request));
        std::mem::forget(taken);
        format!("http://{address}")
    }

    fn answer(&self, request: &Request) -> (&'static str, String) {
        let mut comments = self.0.lock().unwrap();
        assert_eq!(request.field("Authorization"), Some("Bearer a-token"));
        let host = request.field("Host").unwrap();
        let all = "/repos/them/chat/issues/7/comments";
        let one = |k: usize| format!("http://{host}/repos/them/chat/issues/comments/{k}");
        let body = || request.json()["body"].as_str().unwrap().to_owned();
        match request.line.split_once(' ').unwrap() {
            ("GET", path) if path.starts_with(&format!("{all}?")) => {
                let known: Vec<Value> =
                    (0..comments.len()).map(|k| json!({ "url": one(k), "body": comments[k] })).collect();
                ("200 OK", Value::from(known).to_string())
            }
            ("POST", path) if path == all => {
                comments.push(body());
                ("201 Created", "{}".into())
            }
            ("PATCH", path) => {
                let number: usize = path.rsplit('/').next().unwrap().parse().unwrap();
                comments[number] = body();
                ("200 OK", "{}".into())
            }
            (method, path) => panic!("{method} {path}"),
        }
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}
