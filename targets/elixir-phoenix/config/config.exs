import Config

config :phoenix, :json_library, Jason

config :benchmark, BenchmarkWeb.Endpoint,
  adapter: Bandit.PhoenixAdapter,
  pubsub_server: Benchmark.PubSub

# Nothing is logged for each message: warnings and errors only.
config :logger, level: :warning
