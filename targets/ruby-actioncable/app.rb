# frozen_string_literal: true

# A Rails application with Action Cable, its benchmark channel, and an empty page.

require "action_controller/railtie"
require "action_cable/engine"
require "active_record/railtie" if ENV["CABLE_ADAPTER"] == "postgresql"

class BenchmarkApp < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.root = __dir__
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = SecureRandom.hex(64)
  # Nothing is logged for each message: warnings and errors, on stdout.
  config.logger = ActiveSupport::Logger.new($stdout)
  config.log_level = :warn

  config.action_cable.mount_path = "/cable"
  # Whoever measures is no browser, and has no origin of ours.
  config.action_cable.disable_request_forgery_protection = true

  routes.append do
    root to: ->(_env) { [200, { "Content-Type" => "text/plain" }, []] }
  end
end

module ApplicationCable
  class Connection < ActionCable::Connection::Base; end

  class Channel < ActionCable::Channel::Base; end
end

# Everybody gets what anybody broadcasts; the sender gets a result besides, and an echo alone.
class BenchmarkChannel < ApplicationCable::Channel
  STREAM = "all"

  def subscribed
    stream_from STREAM
  end

  def echo(data)
    transmit data
  end

  def broadcast(data)
    ActionCable.server.broadcast STREAM, data
    transmit data.merge("action" => "broadcastResult")
  end
end
