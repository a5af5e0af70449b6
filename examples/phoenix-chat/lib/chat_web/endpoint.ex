defmodule ChatWeb.Endpoint do
  use Phoenix.Endpoint, otp_app: :chat

  socket "/socket", ChatWeb.UserSocket, websocket: true, longpoll: false

  plug Plug.Parsers, parsers: [:json], json_decoder: Phoenix.json_library()
  plug ChatWeb.Router
end
