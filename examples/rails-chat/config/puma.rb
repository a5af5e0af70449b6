# frozen_string_literal: true

require "securerandom"

ENV["RAILS_ENV"] ||= "production"
# The same for all workers; sessions end with the server.
ENV["SECRET_KEY_BASE"] ||= SecureRandom.hex(64)

environment ENV["RAILS_ENV"]
bind "tcp://127.0.0.1:#{ENV.fetch('PORT', '3340')}"
threads 1, 16
quiet
