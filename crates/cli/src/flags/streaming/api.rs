//! APIs whose answers come in pieces, and how their clients ask.

/// An API, as its own clients use it.
#[derive(Debug)]
pub(crate) struct Api {
    name: &'static str,
    /// The path that its clients ask at, where the URL has none.
    path: Option<&'static str>,
    /// The body, with `MODEL` and `PROMPT` in it as JSON texts.
    body: Option<&'static str>,
    /// Header fields that its servers insist on.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The mark of a whole answer.
    pub(super) end: Option<&'static str>,
    /// A pointer to the token in an event.
    pub(super) tokens: Option<&'static str>,
}

/// Each API, with the page that defines it.
static APIS: [Api; 4] = [
    // platform.openai.com/docs/api-reference/chat-streaming; vLLM, llama.cpp, TGI and others speak it too.
    Api {
        name: "openai",
        path: Some("/v1/chat/completions"),
        body: Some(r#"{"model":MODEL,"messages":[{"role":"user","content":PROMPT}],"stream":true}"#),
        headers: &[],
        end: Some("[DONE]"),
        tokens: Some("/choices/0/delta/content"),
    },
    // docs.anthropic.com/en/docs/build-with-claude/streaming
    Api {
        name: "anthropic",
        path: Some("/v1/messages"),
        body: Some(
            r#"{"model":MODEL,"max_tokens":1024,"messages":[{"role":"user","content":PROMPT}],"stream":true}"#,
        ),
        headers: &[("anthropic-version", "2023-06-01")],
        end: Some("event:message_stop"),
        tokens: Some("/delta/text"),
    },
    // github.com/ollama/ollama/blob/main/docs/api.md
    Api {
        name: "ollama",
        path: Some("/api/chat"),
        body: Some(r#"{"model":MODEL,"messages":[{"role":"user","content":PROMPT}],"stream":true}"#),
        headers: &[],
        end: Some("/done=true"),
        tokens: Some("/message/content"),
    },
    // modelcontextprotocol.io, 2025-06-18, Streamable HTTP: the response to the request ends its stream.
    Api {
        name: "mcp",
        path: Some("/mcp"),
        body: Some(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#),
        headers: &[("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", "2025-06-18")],
        end: Some("/result"),
        tokens: None,
    },
];

/// The help of the flag that names one.
pub(super) fn help() -> String {
    format!(
        "Ask as clients of this API do: {}. It sets path, body, headers, end mark and tokens; a flag of your own takes precedence",
        names()
    )
}

fn names() -> String {
    APIS.iter().map(|api| api.name).collect::<Vec<_>>().join(", ")
}

impl Api {
    /// The API of that name.
    pub(crate) fn named(name: &str) -> Result<&'static Api, String> {
        APIS.iter().find(|api| api.name == name).ok_or_else(|| format!("expected one of {}", names()))
    }

    /// The name of the API whose clients ask at this path.
    pub(crate) fn at(path: &str) -> Option<&'static str> {
        let path = path.split('?').next().unwrap_or_default();
        APIS.iter().find(|api| api.path == Some(path)).map(|api| api.name)
    }

    /// The body that asks a model this.
    pub(super) fn body(&self, model: &str, prompt: &str) -> Option<Vec<u8>> {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        // The prompt last: it may have the other word in it.
        Some(self.body?.replace("MODEL", &json(model)).replacen("PROMPT", &json(prompt), 1).into_bytes())
    }

    /// Adds the path behind a bare URL.
    pub(crate) fn complete(&self, url: &mut Option<String>) {
        let bare = url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
        if let (Some(bare), Some(path)) = (bare, self.path)
            && bare.matches('/').count() == 2
            && !bare.contains('?')
        {
            *url = Some(bare + path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_whatever_the_prompt() {
        for api in &APIS {
            let body = api.body("m\"1", "say \"MODEL\"\n").unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            if api.name != "mcp" {
                assert_eq!(body["model"], "m\"1", "{}", api.name);
                assert_eq!(body["messages"][0]["content"], "say \"MODEL\"\n");
            }
        }
    }

    #[test]
    fn paths_stand_behind_bare_urls_alone() {
        let at = |url: &str| {
            let mut url = Some(url.to_owned());
            Api::named("openai").unwrap().complete(&mut url);
            url.unwrap()
        };
        assert_eq!(at("http://127.0.0.1:8000/"), "http://127.0.0.1:8000/v1/chat/completions");
        assert_eq!(at("http://127.0.0.1:8000/v2/chat"), "http://127.0.0.1:8000/v2/chat");
    }
}
