#include "protocol.h"

#include <cstdint>

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace {

// The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
constexpr size_t headerBytes = 1 + 4;
constexpr size_t timeBytes = 8;

uint32_t bigEndian(std::string_view bytes) {
    uint32_t value = 0;
    for (unsigned char byte : bytes) value = value << 8 | byte;
    return value;
}

std::optional<std::string> binaryResult(std::string_view message) {
    if (message.size() < headerBytes + timeBytes || message[0] != 'b') return {};
    if (bigEndian(message.substr(1, 4)) != message.size() - headerBytes) return {};
    std::string result(message);
    result[0] = 'r';
    return result;
}

std::optional<std::string> jsonResult(std::string_view text) {
    rapidjson::Document message;
    message.Parse(text.data(), text.size());
    if (message.HasParseError() || !message.IsObject()) return {};
    auto type = message.FindMember("type");
    if (type == message.MemberEnd() || type->value != "broadcast") return {};
    type->value = "broadcastResult";
    rapidjson::StringBuffer result;
    rapidjson::Writer writer(result);
    message.Accept(writer);
    return std::string(result.GetString(), result.GetSize());
}

} // namespace

std::optional<std::string> broadcastResult(std::string_view message, bool isBinary) {
    return isBinary ? binaryResult(message) : jsonResult(message);
}
