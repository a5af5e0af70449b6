import Config

secret_key_base =
  System.get_env("SECRET_KEY_BASE") ||
    raise "SECRET_KEY_BASE is not set: it is what tokens are signed with, and has 64 bytes at least (mix phx.gen.secret)"

config :chat, ChatWeb.Endpoint,
  server: true,
  secret_key_base: secret_key_base,
  check_origin: ["//127.0.0.1", "//localhost"],
  http: [
    ip: {127, 0, 0, 1},
    port: String.to_integer(System.get_env("PORT", "4000")),
    thousand_island_options: [num_connections: :infinity]
  ]
