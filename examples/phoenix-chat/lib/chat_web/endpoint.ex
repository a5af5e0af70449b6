defmodule ChatWeb.Endpoint do
  use Phoenix.Endpoint, otp_app: :chat

  socket "/socket", ChatWeb.UserSocket, websocket: true, longpoll: false

  # The page, and the client that Phoenix's own package carries.
  plug Plug.Static, at: "/", from: "public", only: ~w(index.html)
  plug Plug.Static, at: "/", from: {:phoenix, "priv/static"}, only: ~w(phoenix.js)

  plug Plug.Parsers, parsers: [:json], json_decoder: Phoenix.json_library()
  plug ChatWeb.Router
end
