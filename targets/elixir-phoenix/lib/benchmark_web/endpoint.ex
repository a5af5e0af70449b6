defmodule BenchmarkWeb.Endpoint do
  use Phoenix.Endpoint, otp_app: :benchmark

  @message_bytes_max 16 * 1024 * 1024

  socket "/socket", BenchmarkWeb.UserSocket,
    websocket: [max_frame_size: @message_bytes_max, compress: false],
    longpoll: false

  plug :home

  # Says that the server is there.
  defp home(%{method: "GET", path_info: []} = conn, _options), do: Plug.Conn.send_resp(conn, 200, "")
  defp home(conn, _options), do: Plug.Conn.send_resp(conn, 404, "")
end
