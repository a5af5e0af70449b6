// An echo and broadcast server on µWebSockets.

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_set>
#include <vector>

#include <App.h>

#include "protocol.h"

namespace {

constexpr int closeGraceMs = 1000;
constexpr int goingAway = 1001;
constexpr std::string_view everyone = "everyone";

std::string env(const char *name, const char *fallback) {
    const char *value = std::getenv(name);
    return value ? value : fallback;
}

struct Client {};
using Socket = uWS::WebSocket<false, true, Client>;

// The application, its open WebSockets and the sockets it listens on; all in one thread.
struct Server {
    uWS::App app;
    std::unordered_set<Socket *> clients;
    std::vector<us_listen_socket_t *> listeners;

    Server() {
        app.get("/", [](auto *response, auto *) { response->end(); });
        app.any("/*", [](auto *response, auto *) { response->writeStatus("404 Not Found")->end(); });
        uWS::App::WebSocketBehavior<Client> behavior;
        behavior.maxPayloadLength = std::stoul(env("MESSAGE_BYTES", "16777216"));
        behavior.maxBackpressure = std::stoul(env("QUEUE_BYTES", "67108864"));
        behavior.closeOnBackpressureLimit = true;
        behavior.idleTimeout = std::stoul(env("IDLE_S", "0"));
        behavior.sendPingsAutomatically = false;
        behavior.open = [this](Socket *socket) {
            clients.insert(socket);
            socket->subscribe(everyone);
        };
        behavior.message = [this](Socket *socket, std::string_view message, uWS::OpCode kind) {
            if (auto result = broadcastResult(message, kind == uWS::BINARY)) {
                app.publish(everyone, message, kind);
                socket->send(*result, kind);
            } else {
                socket->send(message, kind);
            }
        };
        behavior.close = [this](Socket *socket, int, std::string_view) { clients.erase(socket); };
        app.ws<Client>("/ws", std::move(behavior));
    }

    void listen(const std::string &host, int port) {
        app.listen(host, port, [this](auto *listener) { add(listener); });
    }

    void listen(const std::string &path) {
        unlink(path.c_str());
        app.listen([this](auto *listener) { add(listener); }, path);
    }

    void add(us_listen_socket_t *listener) {
        if (!listener) {
            std::cerr << "cannot listen: is the port taken?" << std::endl;
            std::exit(1);
        }
        listeners.push_back(listener);
    }

    // Says goodbye to every client; who has not left after the grace is dropped.
    void stop() {
        for (auto *listener : listeners) us_listen_socket_close(0, listener);
        for (auto *client : std::vector(clients.begin(), clients.end())) client->end(goingAway);
        auto *timer = us_create_timer(reinterpret_cast<us_loop_t *>(app.getLoop()), 1, sizeof(Server *));
        *static_cast<Server **>(us_timer_ext(timer)) = this;
        us_timer_set(timer, [](us_timer_t *timer) {
            (*static_cast<Server **>(us_timer_ext(timer)))->app.close();
        }, closeGraceMs, 0);
    }
};

} // namespace

int main() {
    // Blocked before there are threads, so that only the one that waits for them gets them.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);

    Server server;
    std::string path = env("SOCKET", "");
    server.listen(env("HOST", "127.0.0.1"), std::stoi(env("PORT", "3334")));
    if (!path.empty()) server.listen(path);

    std::thread([&signals, &server, loop = uWS::Loop::get()] {
        int signal;
        sigwait(&signals, &signal);
        loop->defer([&server] { server.stop(); });
    }).detach();
    server.app.run();
    if (!path.empty()) unlink(path.c_str());
}
