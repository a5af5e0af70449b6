# frozen_string_literal: true

# An echo and broadcast server on Plezi, which runs on iodine.

require "json"
require "plezi"

# Says that the server is there.
class HomeController
  def index
    ""
  end
end

# Everyone gets what anyone broadcasts; the sender gets a result besides.
class BenchmarkController
  CHANNEL = "everyone"

  def on_open
    subscribe CHANNEL
  end

  # An echo needs no decoding: its answer is the message itself. Only a broadcast has to be told apart.
  def on_message(message)
    result = broadcast_result(message)
    publish CHANNEL, message if result
    write result || message
  end

  private

  # What the sender of a broadcast gets besides its own copy, or nil if the message is no broadcast.
  def broadcast_result(message)
    # Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    return unless message.encoding == Encoding::UTF_8 && message.start_with?("{")

    parsed = JSON.parse(message)
    JSON.generate(parsed.merge("type" => "broadcastResult")) if parsed["type"] == "broadcast"
  rescue JSON::ParserError
    nil
  end
end

Plezi.route "/ws", BenchmarkController
Plezi.route "/", HomeController

run Plezi.app
