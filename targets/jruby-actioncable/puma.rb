# frozen_string_literal: true

# One process: threads run Ruby code on every core.
bind "tcp://#{ENV.fetch('HOST', '127.0.0.1')}:#{ENV.fetch('PORT', '3334')}"
environment "production"
threads 1, 16
quiet
