#pragma once

#include <optional>
#include <string>

// What the sender of a broadcast of websocket-bench gets besides its own copy, or nothing if the message is no
// broadcast. An echo needs no decoding: in both forms its answer is the message itself.
std::optional<std::string> broadcastResult(const std::string &message, bool isBinary);
