//! `throng ui`: history and live runs in the browser.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tempfile::NamedTempFile;

use crate::archive::StoreArg;
use crate::browser;
use crate::exit::{Exit, Failure};
use crate::hidden;
use crate::interrupts;
use crate::output;
use crate::secrets;
use crate::stderr;

mod form;

/// Look at runs in the browser: history, reports, comparisons, and a run as it happens
///
/// Serves pages to this machine only, until Ctrl-C. The printed address contains a token, without which
/// no one gets in, not even other users of this machine. With --listen on another address there is no TLS, so
/// put a proxy in front of it.
#[derive(Args)]
pub(crate) struct Ui {
    /// Address to listen on; port 0 lets the system choose
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Open the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    store: StoreArg,
}

impl Ui {
    /// Serves until it is asked to stop. The form is made of `command`.
    pub(crate) fn run(self, command: fn() -> clap::Command) -> Result<Exit, Failure> {
        let interrupts = interrupts::install()?;
        // A store that cannot be used is known now, and not when the first page is opened.
        let store = self.store.open_or_make()?.path().to_owned();
        let program = env::current_exe()
            .map_err(|error| Failure::could_not("find_program", "find throng itself", error))?;
        let token =
            random_token().map_err(|error| Failure::could_not("make_token", "make a token", error))?;
        let options = web::Options {
            listen: self.listen,
            token: token.clone(),
            store,
            program,
            words_verb: hidden::WORDS,
            mask: secrets::mask(),
            verbs: form::verbs(&command()),
            fields: form::fields(&command()),
            check: Box::new(move |words| form::check(command(), words)),
        };
        let mut signpost = None;
        let ready = |address: SocketAddr| {
            let url = format!("http://{address}/?token={token}");
            // Even without a reader, the server goes on: the address may be known.
            let _ = output::print(&format!("throng ui: {url}\n"));
            if self.open {
                signpost = open(&url);
            }
        };
        let served = web::serve(options, ready, || interrupts.count() > 0);
        // The page has the token in it: it goes with the server that the token is for.
        drop(signpost);
        served.map_err(|error| Failure::could_not("listen", format!("serve on {}", self.listen), error))?;
        Ok(Exit::Fine)
    }
}

/// 128 unguessable bits.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Opens the address by way of a page that only this user can read: lists of processes are for all, and the
/// address has the token in it. The page is removed when the returned file is dropped. Without a browser, the
/// printed address remains.
fn open(url: &str) -> Option<NamedTempFile> {
    let failed = |error| stderr::line(format_args!("throng: --open: {error}; open the address above"));
    let page = signpost(url).map_err(failed).ok()?;
    browser::open(page.path());
    Some(page)
}

/// A page that leads to the address.
fn signpost(url: &str) -> io::Result<NamedTempFile> {
    let folder = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(env::temp_dir);
    let mut page = tempfile::Builder::new().prefix("throng-ui-").suffix(".html").tempfile_in(folder)?;
    write!(
        page,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>throng ui</title>\n"
    )?;
    page.flush()?;
    Ok(page)
}
