// An echo and broadcast server on WebSocket++.

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include <websocketpp/config/asio_no_tls.hpp>
#include <websocketpp/server.hpp>

#include "protocol.h"

namespace {

// The library's configuration for Asio, with its log compiled away.
struct Config : websocketpp::config::asio {
    static const websocketpp::log::level elog_level = websocketpp::log::elevel::none;
    static const websocketpp::log::level alog_level = websocketpp::log::alevel::none;
    static const size_t max_message_size = 16 * 1024 * 1024;
};

using Endpoint = websocketpp::server<Config>;
using Handle = websocketpp::connection_hdl;

constexpr int backlog = 4096;
constexpr long closeGraceMs = 1000;

class Server {
public:
    Server() : signals_(io_) {
        endpoint_.init_asio(&io_);
        endpoint_.set_reuse_addr(true);
        endpoint_.set_listen_backlog(backlog);
        endpoint_.set_close_handshake_timeout(closeGraceMs);
        endpoint_.set_tcp_post_init_handler([this](Handle handle) { disableNagle(handle); });
        endpoint_.set_validate_handler([this](Handle handle) { return resource(handle) == "/ws"; });
        endpoint_.set_http_handler([this](Handle handle) { answer(handle); });
        endpoint_.set_open_handler([this](Handle handle) { clients_.insert(handle); });
        endpoint_.set_close_handler([this](Handle handle) { clients_.erase(handle); });
        endpoint_.set_message_handler([this](Handle handle, Endpoint::message_ptr message) {
            receive(handle, message);
        });
    }

    void run(const std::string &host, const std::string &port) {
        endpoint_.listen(host, port);
        endpoint_.start_accept();
        signals_.add(SIGTERM);
        signals_.add(SIGINT);
        signals_.async_wait([this](const std::error_code &, int) { stop(); });
        io_.run();
    }

private:
    void disableNagle(Handle handle) {
        websocketpp::lib::asio::error_code ignored;
        endpoint_.get_con_from_hdl(handle)->get_raw_socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    }

    std::string resource(Handle handle) { return endpoint_.get_con_from_hdl(handle)->get_resource(); }

    void answer(Handle handle) {
        using namespace websocketpp::http;
        bool found = resource(handle) == "/";
        endpoint_.get_con_from_hdl(handle)->set_status(found ? status_code::ok : status_code::not_found);
    }

    void receive(Handle sender, Endpoint::message_ptr message) {
        auto kind = message->get_opcode();
        bool isBinary = kind == websocketpp::frame::opcode::binary;
        auto result = broadcastResult(message->get_payload(), isBinary);
        if (!result) {
            send(sender, message->get_payload(), kind);
            return;
        }
        for (const auto &client : clients_) send(client, message->get_payload(), kind);
        send(sender, *result, kind);
    }

    // A connection that is closing does not take messages; its close handler will say that it is gone.
    void send(Handle client, const std::string &payload, websocketpp::frame::opcode::value kind) {
        websocketpp::lib::error_code ignored;
        endpoint_.send(client, payload, kind, ignored);
    }

    // Says goodbye to every client; the timeout of the close handshake drops those who do not answer.
    void stop() {
        websocketpp::lib::error_code ignored;
        endpoint_.stop_listening(ignored);
        for (const auto &client : clients_) {
            endpoint_.close(client, websocketpp::close::status::going_away, "", ignored);
        }
    }

    asio::io_context io_;
    asio::signal_set signals_;
    Endpoint endpoint_;
    std::set<Handle, std::owner_less<Handle>> clients_;
};

std::string env(const char *name, const char *fallback) {
    const char *value = std::getenv(name);
    return value ? value : fallback;
}

} // namespace

int main() {
    try {
        Server().run(env("HOST", "127.0.0.1"), env("PORT", "3334"));
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
