# frozen_string_literal: true

require "json"

# websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
# the answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender
# gets besides its own copy, and nil for anything else.
module Protocol
  # The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
  HEADER_BYTES = 5
  TIME_BYTES = 8

  module_function

  def text_result(text)
    # Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    return unless text.start_with?("{")

    message = JSON.parse(text)
    JSON.generate(message.merge("type" => "broadcastResult")) if message["type"] == "broadcast"
  rescue JSON::ParserError
    nil
  end

  def binary_result(data)
    return if data.bytesize < HEADER_BYTES + TIME_BYTES

    type, size = data.unpack("aN")
    "r" + data.byteslice(1..) if type == "b" && size == data.bytesize - HEADER_BYTES
  end
end
