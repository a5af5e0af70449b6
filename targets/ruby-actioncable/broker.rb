# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"

# What hands broadcasts on between processes: a Redis or a PostgreSQL of their own, on a unix socket, which lives as long as
# Puma and keeps nothing.
class Broker
  START_MAX_S = 30

  # The one of this adapter of Action Cable; nil for an adapter that needs none.
  def self.for(adapter)
    { "redis" => Redis, "postgresql" => PostgreSQL }[adapter]&.new
  end

  def initialize
    # Beside SOCKET, where the path of a unix socket stays short enough, wherever this folder is.
    @directory = Dir.mktmpdir("actioncable-", ENV["SOCKET"]&.then { File.dirname(_1) })
  end

  def start
    spawn_server
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + START_MAX_S
    until ready?
      raise "#{self.class} did not start" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
    end
  end

  # Also in the middle of its start.
  def stop
    if @pid
      Process.kill(self.class::STOP, @pid)
      Process.wait(@pid)
    end
  rescue Errno::ESRCH, Errno::ECHILD
    nil # It has ended by itself.
  ensure
    FileUtils.remove_entry(@directory)
  end

  # One process; its address goes to config/cable.yml.
  class Redis < Broker
    STOP = :TERM

    private

    def spawn_server
      socket = ENV["REDIS_SOCKET"] = File.join(@directory, "redis.sock")
      command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", @directory]
      @pid = Process.spawn(*command, out: File::NULL)
    end

    def ready?
      File.socket?(ENV["REDIS_SOCKET"])
    end
  end

  # An empty cluster; its address goes to config/database.yml. It refuses to run as root, and is then the user's of its package.
  class PostgreSQL < Broker
    STOP = :INT # A fast shutdown, which does not wait for who is connected.

    private

    def spawn_server
      ENV["POSTGRESQL_SOCKET"] = @directory
      data = File.join(@directory, "data")
      if Process.uid.zero?
        FileUtils.chown("postgres", "postgres", @directory)
        # The folder around it may be the user's alone.
        FileUtils.chmod("go+x", File.dirname(@directory))
      end
      run("initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync")
      Process.wait(@pid)
      run("postgres", "-D", data, "-k", @directory, "-c", "listen_addresses=", "-c", "fsync=off")
    end

    def ready?
      system(program("pg_isready"), "--quiet", "--host", @directory)
    end

    def run(name, *arguments)
      @pid = fork do
        Process::UID.change_privilege(Etc.getpwnam("postgres").uid) if Process.uid.zero?
        exec(program(name), *arguments, chdir: @directory, out: File::NULL)
      end
    end

    # Debian keeps each version's programs in a folder of their own.
    def program(name)
      Dir["/usr/lib/postgresql/*/bin/#{name}"].max
    end
  end
end
