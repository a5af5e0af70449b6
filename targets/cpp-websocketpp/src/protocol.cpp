#include "protocol.h"

#include <cstdint>

#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;

// The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
constexpr size_t headerBytes = 1 + 4;
constexpr size_t timeBytes = 8;

uint32_t bigEndian(const std::string &bytes) {
    uint32_t value = 0;
    for (unsigned char byte : bytes) value = value << 8 | byte;
    return value;
}

std::optional<std::string> binaryResult(const std::string &message) {
    if (message.size() < headerBytes + timeBytes || message[0] != 'b') return {};
    if (bigEndian(message.substr(1, 4)) != message.size() - headerBytes) return {};
    std::string result = message;
    result[0] = 'r';
    return result;
}

std::optional<std::string> jsonResult(const std::string &text) {
    Json message = Json::parse(text, nullptr, /* allow_exceptions */ false);
    if (!message.is_object()) return {};
    auto type = message.find("type");
    if (type == message.end() || *type != "broadcast") return {};
    *type = "broadcastResult";
    return message.dump();
}

} // namespace

std::optional<std::string> broadcastResult(const std::string &message, bool isBinary) {
    return isBinary ? binaryResult(message) : jsonResult(message);
}
