# frozen_string_literal: true

require "action_controller/railtie"
require "action_view/railtie"
require "action_cable/engine"

module Chat
  class Application < Rails::Application
    config.load_defaults 6.1
    config.eager_load = true
    config.consider_all_requests_local = false
    config.secret_key_base = ENV.fetch("SECRET_KEY_BASE")
    config.session_store :cookie_store, key: "_chat_session"
    config.logger = ActiveSupport::Logger.new($stdout)
    config.log_level = :warn
  end
end
