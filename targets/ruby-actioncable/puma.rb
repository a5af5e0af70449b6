# frozen_string_literal: true

# The web server: one process, or WORKERS of them, and what the cable's adapter needs, which lives and dies with Puma.

require_relative "broker"

workers_count = Integer(ENV.fetch("WORKERS", "1"))

bind "tcp://#{ENV.fetch('HOST', '127.0.0.1')}:#{ENV.fetch('PORT', '3334')}"
environment "production"
threads 1, 16
silence_single_worker_warning if respond_to?(:silence_single_worker_warning)
quiet

if workers_count > 1
  workers workers_count
  preload_app!
end

if (broker = Broker.for(ENV["CABLE_ADAPTER"]))
  primary = Process.pid
  at_exit { broker.stop if Process.pid == primary }
  # Puma handles the signal later on; until then it would end without a word to the broker.
  trap(:TERM) { exit }
  broker.start
end
