# frozen_string_literal: true

# An echo and broadcast server on em-websocket.

require "em-websocket"
require "set"
require "socket"
require_relative "protocol"

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1
BACKLOG = 4096

# Everyone who is connected, on one thread.
class Room
  def initialize
    @clients = Set.new
  end

  def handle(client)
    client.onopen { @clients << client }
    client.onclose { @clients.delete(client) }
    client.onerror { |error| warn error.full_message unless error.is_a?(EM::WebSocket::WebSocketError) }
    client.onmessage { |text| answer(client, :send_text, text, Protocol.text_result(text)) }
    client.onbinary { |data| answer(client, :send_binary, data, Protocol.binary_result(data)) }
  end

  # Says goodbye to everyone and waits until they have left, at most as long as the grace.
  def close(&done)
    EM.add_timer(CLOSE_GRACE_S, &done)
    EM.add_periodic_timer(0.01) { done.call if @clients.empty? }
    @clients.each { |client| client.close(1000, "Going away") }
  end

  private

  def answer(sender, send, message, result)
    @clients.each { |client| client.public_send(send, message) } if result
    sender.public_send(send, result || message)
  end
end

EM::WebSocket.max_frame_size = MESSAGE_BYTES_MAX
EM.epoll
EM.run do
  # EventMachine's own listener would have a backlog of a hundred.
  listener = TCPServer.new(ENV.fetch("HOST", "127.0.0.1"), Integer(ENV.fetch("PORT", "3334")))
  listener.listen(BACKLOG)
  room = Room.new
  server = EM.attach_server(listener, EM::WebSocket::Connection, {}) { |client| room.handle(client) }

  %w[TERM INT].each do |signal|
    # A handler may take no lock, and EventMachine's queue has one: hence the thread.
    trap(signal) do
      Thread.new do
        EM.schedule do
          EM.stop_server(server)
          room.close { EM.stop }
        end
      end
    end
  end
end
