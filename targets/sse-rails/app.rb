# frozen_string_literal: true

require "action_controller/railtie"

# Rooms, each with the queues of its clients.
class Rooms
  def initialize
    @rooms = Hash.new { |rooms, name| rooms[name] = [] }
    @lock = Mutex.new
  end

  def join(name)
    queue = Queue.new
    @lock.synchronize { @rooms[name] << queue }
    queue
  end

  def leave(name, queue)
    @lock.synchronize { @rooms[name].delete(queue) }
  end

  # An event is encoded once.
  def publish(name, data)
    tell(@lock.synchronize { @rooms[name].dup }, "data: #{data}\n\n")
  end

  # A comment for each client: the end of a connection is noticed when something is written to it.
  def keep_alive
    tell(@lock.synchronize { @rooms.values.flatten }, ": still here\n\n")
  end

  private

  def tell(queues, part)
    queues.each { |queue| queue << part }
  end
end

ROOMS = Rooms.new
HEARTBEAT_S = 15

class EventsController < ActionController::API
  include ActionController::Live

  EVENTS = 100
  GAP_S = 0.01

  def index
    queue = ROOMS.join(params[:room])
    open_stream
    loop { response.stream.write(queue.pop) }
  rescue ActionController::Live::ClientDisconnected
    # The client has left.
  ensure
    ROOMS.leave(params[:room], queue) if queue
    response.stream.close
  end

  def answer
    open_stream
    sse = ActionController::Live::SSE.new(response.stream)
    start_s = now_s
    EVENTS.times do |n|
      pause_s = start_s + n * GAP_S - now_s
      sleep pause_s if pause_s.positive?
      sse.write({ n: n })
    end
    response.stream.write("data: [DONE]\n\n")
  rescue ActionController::Live::ClientDisconnected
    # The client has left.
  ensure
    response.stream.close
  end

  private

  def now_s
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Without Last-Modified, Rack::ETag would read the whole answer before it sends any of it.
  def open_stream
    response.headers["Content-Type"] = "text/event-stream"
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Last-Modified"] = Time.now.httpdate
    response.stream.write(": open\n\n")
  end
end

class RoomsController < ActionController::API
  def home
    head :ok
  end

  def publish
    ROOMS.publish(params[:room], request.raw_post)
    head :no_content
  end
end

class EventsApp < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.root = __dir__
  config.eager_load = true
  config.consider_all_requests_local = false
  config.log_level = :fatal # nothing is logged for each event
  config.logger = ActiveSupport::Logger.new($stdout)
  config.secret_key_base = SecureRandom.hex(64)

  routes.append do
    get "/", to: "rooms#home"
    get "/events", to: "events#index"
    get "/stream", to: "events#answer"
    post "/publish/:room", to: "rooms#publish"
  end
end

Thread.new do
  loop do
    sleep HEARTBEAT_S
    ROOMS.keep_alive
  end
end
