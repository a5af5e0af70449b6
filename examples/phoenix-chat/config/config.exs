import Config

config :phoenix, :json_library, Jason

config :chat, ChatWeb.Endpoint,
  adapter: Bandit.PhoenixAdapter,
  render_errors: [formats: [json: ChatWeb.ErrorJSON]],
  pubsub_server: Chat.PubSub

config :logger, level: :warning
