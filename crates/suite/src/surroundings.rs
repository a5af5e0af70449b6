//! The environment of what a target runs: installers, builds, its version command, the server. They get what
//! programs and toolchains need to work, and nothing else: what is in the variables of a shell or of a CI job
//! (tokens, keys) is not for somebody's package script, and a server must not be another because of a
//! variable that happens to be set.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Variables any program needs: where things are, in which language it talks, and how to reach the network.
const GENERAL: [&str; 57] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TZ",
    "LANG",
    "LANGUAGE",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "DEBIAN_FRONTEND",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "RUST_BACKTRACE",
    "RUSTFLAGS",
    "JAVA_HOME",
    "LEIN_HOME",
    "VIRTUAL_ENV",
    // Not all of PYTHON and UV_: PYTHONDEVMODE slows a server down, and UV_ begins libuv's variables, too.
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "PYTHONPYCACHEPREFIX",
    "UV_CACHE_DIR",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_OFFLINE",
    "UV_PYTHON",
    "UV_PYTHON_INSTALL_DIR",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
];
/// Families of them: each tool's own, by which it finds its caches, mirrors and versions.
const FAMILIES: [&str; 24] = [
    "LC_",
    "CARGO_",
    "RUSTUP_",
    "GOPATH",
    "GOROOT",
    "GOPROXY",
    "GOFLAGS",
    "GOSUMDB",
    "GONOSUMDB",
    "GOMODCACHE",
    "GOCACHE",
    "GOTOOLCHAIN",
    "npm_config_",
    "NPM_CONFIG_",
    "NVM_",
    "PIP_",
    "PYENV_",
    "GEM_",
    "BUNDLE_",
    "RBENV_",
    "MAVEN_",
    "MIX_",
    "HEX_",
    "CABAL_",
];

/// Options of the JVM, by which a build finds a proxy or has enough memory. A server would be another with them.
const OF_BUILDS: [&str; 4] = ["JAVA_OPTS", "JAVA_TOOL_OPTIONS", "LEIN_JVM_OPTS", "SBT_OPTS"];

/// Folders of tools' caches.
const CACHES: [&str; 16] = [
    "CARGO_HOME",
    "GOPATH",
    "GOMODCACHE",
    "GOCACHE",
    "npm_config_cache",
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "PYTHONPYCACHEPREFIX",
    "UV_CACHE_DIR",
    "GEM_HOME",
    "BUNDLE_USER_HOME",
    "MAVEN_USER_HOME",
    "MIX_HOME",
    "HEX_HOME",
    "LEIN_HOME",
    "CABAL_DIR",
];

/// Removes from a command's environment all variables that are not for it, including those set before.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    command.env_clear().envs(kept())
}

/// The variables that are for all. Users and passwords are taken out of them: only what installs or builds
/// fetches anything.
pub(crate) fn kept() -> impl Iterator<Item = (String, OsString)> {
    known().filter_map(|(name, value)| {
        let value = match value.to_str() {
            Some(text) => without_logins(&name, text).into(),
            // Whether it has a login cannot be told.
            None if value.as_encoded_bytes().contains(&b'@') => return None,
            None => value,
        };
        Some((name, value))
    })
}

/// The variables that are for installing and building alone: options, and those with users and passwords.
pub(crate) fn of_builds() -> impl Iterator<Item = (String, String)> {
    let options = OF_BUILDS.into_iter().filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)));
    let whole = known().filter_map(|(name, value)| Some((name, value.into_string().ok()?)));
    options.chain(whole.filter(|(name, value)| without_logins(name, value) != *value))
}

/// The variables that a target may see, with the user's values.
fn known() -> impl Iterator<Item = (String, OsString)> {
    let named = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    named.filter(|(name, _)| is_for_all(name))
}

/// A variable's value without the user and password of each URL in it (RFC 3986 §3.2.1).
fn without_logins(name: &str, value: &str) -> String {
    // A proxy may be named without a scheme (curl(1)).
    if name.to_ascii_lowercase().ends_with("_proxy") && !value.contains("://") {
        return host_of(value).to_owned();
    }
    let mut pieces = value.split("://");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_end = |c: char| c.is_whitespace() || "/?#\"".contains(c);
        let (authority, rest) = piece.split_at(piece.find(is_end).unwrap_or(piece.len()));
        shown += &format!("://{}{rest}", host_of(authority));
    }
    shown
}

/// An authority without its user. From the end: a password may have an @ in it that nobody has encoded.
fn host_of(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The folders of tools' caches that the user's variables name.
pub(crate) fn caches() -> impl Iterator<Item = PathBuf> {
    kept().filter(|(name, _)| is_cache(name)).map(|(_, value)| value.into())
}

/// Returns whether the variable says where a tool keeps things.
pub(crate) fn is_cache(name: &str) -> bool {
    CACHES.contains(&name)
}

/// Returns whether a variable may be seen by what a target runs. One that is a secret by its name may not,
/// whatever family it is of: `HEX_API_KEY`, `NPM_CONFIG__AUTH`, `CARGO_REGISTRY_TOKEN`. Bundler has them by
/// the names of hosts.
fn is_for_all(name: &str) -> bool {
    let is_known = GENERAL.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    let is_of_host = name.starts_with("BUNDLE_") && name.contains("__");
    is_known && !is_of_host && !secret::is_secret(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_find_their_variables_and_no_secret() {
        for name in [
            "PATH",
            "HOME",
            "https_proxy",
            "LC_ALL",
            "GOPROXY",
            "npm_config_registry",
            "PIP_INDEX_URL",
            "BUNDLE_PATH",
            "PYTHONPATH",
            "UV_CACHE_DIR",
        ] {
            assert!(is_for_all(name), "{name}");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "NPM_CONFIG__AUTH",
            "HEX_API_KEY",
            "BUNDLE_GITHUB__COM",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SSH_AUTH_SOCK",
            "DATABASE_URL",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "PYTHONDEVMODE",
            "PYTHONASYNCIODEBUG",
            "JAVA_TOOL_OPTIONS",
            "UV_THREADPOOL_SIZE",
        ] {
            assert!(!is_for_all(name), "{name}");
        }
    }

    #[test]
    fn logins_are_taken_out_of_urls() {
        for (name, value, shown) in [
            ("PIP_INDEX_URL", "https://me:p@w@h:8/simple?a=b@c", "https://h:8/simple?a=b@c"),
            ("PIP_INDEX_URL", "https://me:o'neil@h/simple", "https://h/simple"),
            ("UV_EXTRA_INDEX_URL", "https://token@a/x  http://b/", "https://a/x  http://b/"),
            (
                "GOPROXY",
                "https://me:pw@a,https://b|https://c:d@e,direct",
                "https://a,https://b|https://e,direct",
            ),
            ("https_proxy", "me:pw@proxy:3128", "proxy:3128"),
            ("ALL_PROXY", "socks5://me:pw@proxy", "socks5://proxy"),
            ("PATH", "/opt/node@18/bin:/bin", "/opt/node@18/bin:/bin"),
            ("CFLAGS", "-DAT=a@b", "-DAT=a@b"),
        ] {
            assert_eq!(without_logins(name, value), shown);
        }
    }
}
