//! `throng ui`: history and live runs in the browser.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use clap::Args;
use wire::DialectId;

use crate::archive::StoreArg;
use crate::exit::{Exit, Failure};
use crate::interrupts;
use crate::output;
use crate::secrets;
use crate::stderr;
use crate::verbs::words;

/// Look at runs in the browser: history, reports, comparisons, and a run as it happens
///
/// Serves pages to this machine only, until Ctrl-C. The address that is printed has a token in it, without which nobody is
/// let in: other users of this machine are kept out, too. With --listen on another address there is no TLS, so put a
/// proxy before it.
#[derive(Args)]
pub(crate) struct Ui {
    /// Where to listen; port 0 lets the system choose
    #[arg(short, long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Open the browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    store: StoreArg,
}

impl Ui {
    /// Serves until it is asked to stop.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let interrupts = interrupts::install()?;
        // A store that cannot be used is known now, and not when the first page is opened.
        let store = self.store.open_or_make()?.path().to_owned();
        let program = env::current_exe().map_err(|error| Failure::could_not("find throng itself", error))?;
        let token = random_token().map_err(|error| Failure::could_not("make a token", error))?;
        let options = web::Options {
            listen: self.listen,
            token: token.clone(),
            store,
            program,
            words_verb: words::NAME,
            mask: secrets::mask(),
            dialects: DialectId::ALL
                .iter()
                .map(|dialect| dialect.name())
                .filter(|name| *name != "http")
                .collect(),
        };
        let ready = |address: SocketAddr| {
            let url = format!("http://{address}/?token={token}");
            // That nobody reads it ends nothing: the address may be known.
            let _ = output::print(&format!("throng ui: {url}\n"));
            if self.open {
                open(&url);
            }
        };
        let served = web::serve(options, ready, || interrupts.count() > 0);
        served.map_err(|error| Failure::could_not(format!("serve on {}", self.listen), error))?;
        Ok(Exit::Fine)
    }
}

/// 128 bits that nobody can guess.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// The desktop knows which browser. Where there is none, the address has been printed.
fn open(url: &str) {
    let opened = Command::new("xdg-open").arg(url).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(error) = opened {
        stderr::line(format_args!("throng: --open: xdg-open: {error}; open the address above"));
    }
}
