# frozen_string_literal: true

# The web server: one process, or WORKERS of them with a Redis of their own that lives and dies with Puma.

require "tmpdir"

workers_count = Integer(ENV.fetch("WORKERS", "1"))

bind "tcp://#{ENV.fetch('HOST', '127.0.0.1')}:#{ENV.fetch('PORT', '3334')}"
environment "production"
threads 1, 16
silence_single_worker_warning if respond_to?(:silence_single_worker_warning)
quiet

if workers_count > 1
  workers workers_count
  preload_app!

  directory = Dir.mktmpdir("actioncable-redis-")
  ENV["REDIS_SOCKET"] = File.join(directory, "redis.sock")
  redis = Process.spawn(
    "redis-server", "--port", "0", "--unixsocket", ENV["REDIS_SOCKET"], "--save", "", "--dir", directory,
    out: File::NULL
  )
  primary = Process.pid
  at_exit do
    if Process.pid == primary
      Process.kill(:TERM, redis)
      Process.wait(redis)
      FileUtils.remove_entry(directory)
    end
  end
end
