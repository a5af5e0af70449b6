//! An echo and broadcast server on Actix Web.

mod hub;
mod protocol;

use std::env;
use std::error::Error;
use std::io;
use std::thread;

use actix_web::{App, HttpResponse, HttpServer, rt, web};
use tokio::signal::unix::{SignalKind, signal};

use crate::hub::Hub;

const BACKLOG: u32 = 4096;

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host = setting("HOST", "127.0.0.1");
    let port: u16 = setting("PORT", "3334").parse()?;
    let workers = match env::var("WORKERS") {
        Ok(workers) => workers.parse()?,
        Err(_) => thread::available_parallelism()?.get(),
    };

    let hub = web::Data::new(Hub::default());
    let app_hub = hub.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(app_hub.clone())
            .route("/", web::get().to(HttpResponse::Ok))
            .route("/ws", web::get().to(hub::upgrade))
    })
    .backlog(BACKLOG)
    .workers(workers)
    .disable_signals()
    .bind((host, port))?
    .run();

    let handle = server.handle();
    rt::spawn(server);
    stop_signal().await?;
    hub.close_all().await;
    handle.stop(false).await;
    Ok(())
}

async fn stop_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn setting(name: &str, fallback: &str) -> String {
    env::var(name).unwrap_or_else(|_| fallback.to_owned())
}
