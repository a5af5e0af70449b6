# frozen_string_literal: true

# One process: several would have to tell one another what is published. A stream keeps its thread for as long as it lasts.
bind "tcp://#{ENV.fetch('HOST', '127.0.0.1')}:#{ENV.fetch('PORT', '3334')}"
environment "production"
threads 16, Integer(ENV.fetch("RAILS_MAX_THREADS", "4000"))
quiet
