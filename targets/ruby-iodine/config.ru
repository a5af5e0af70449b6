# frozen_string_literal: true

# An echo and broadcast server on iodine: a Rack application whose WebSockets are iodine's own.

require "json"

# Everyone gets what is published here, in every process.
CHANNEL = "everyone"

# What iodine calls for each connection; there is no state, so one object serves all.
module Client
  module_function

  def on_open(client)
    client.subscribe(CHANNEL)
  end

  # An echo needs no decoding: its answer is the message itself. Only a broadcast has to be told apart.
  def on_message(client, message)
    result = broadcast_result(message)
    client.publish(CHANNEL, message) if result
    client.write(result || message)
  end

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

app = lambda do |env|
  case env["PATH_INFO"]
  when "/"
    [200, { "Content-Length" => "0" }, []]
  when "/ws"
    next [426, { "Content-Length" => "0" }, []] unless env["rack.upgrade?"] == :websocket

    env["rack.upgrade"] = Client
    [200, {}, []]
  else
    [404, { "Content-Length" => "0" }, []]
  end
end

run app
