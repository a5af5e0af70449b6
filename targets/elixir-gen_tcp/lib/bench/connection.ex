defmodule Bench.Connection do
  @moduledoc """
  One connection: the runtime parses what arrives (`packet: :http_bin`) and sends it as messages as it comes
  (`active: true`); each request, pipelined or not, is answered when its headers are complete.
  """

  # What is known of a request before its headers are complete.
  defstruct [:method, :path, keep_alive: true, body: false]

  def serve(socket, handler) do
    with :ok <- :inet.setopts(socket, active: true), do: loop(socket, handler, nil)
  end

  defp loop(socket, handler, request) do
    receive do
      {:http, ^socket, {:http_request, method, {:abs_path, path}, version}} ->
        loop(socket, handler, %__MODULE__{
          method: method,
          path: path,
          keep_alive: version == {1, 1}
        })

      {:http, ^socket, {:http_header, _, name, _, value}} ->
        loop(socket, handler, with_header(request, name, value))

      {:http, ^socket, :http_eoh} ->
        answer(socket, handler, request)

      {:http, ^socket, _malformed} ->
        close(socket, response(400, ""))

      {:tcp_closed, ^socket} ->
        :ok

      {:tcp_error, ^socket, _reason} ->
        :gen_tcp.close(socket)
    end
  end

  defp with_header(request, :Connection, value) do
    %{request | keep_alive: String.downcase(value) != "close"}
  end

  defp with_header(request, name, _value)
       when name in [:"Content-Length", :"Transfer-Encoding"] do
    %{request | body: true}
  end

  defp with_header(request, _name, _value), do: request

  # Nothing here takes a body, and what cannot be read cannot be skipped.
  defp answer(socket, _handler, %{body: true}), do: close(socket, response(413, ""))

  defp answer(socket, handler, %{method: method, path: path, keep_alive: keep_alive}) do
    {status, body} = handler.(method, path)

    cond do
      not keep_alive -> close(socket, response(status, body))
      :gen_tcp.send(socket, response(status, body)) == :ok -> loop(socket, handler, nil)
      true -> :gen_tcp.close(socket)
    end
  end

  defp close(socket, response) do
    :gen_tcp.send(socket, response)
    :gen_tcp.close(socket)
  end

  defp response(status, body) do
    [
      "HTTP/1.1 ",
      reason(status),
      "\r\nContent-Length: ",
      Integer.to_string(IO.iodata_length(body)),
      "\r\n\r\n",
      body
    ]
  end

  defp reason(200), do: "200 OK"
  defp reason(400), do: "400 Bad Request"
  defp reason(404), do: "404 Not Found"
  defp reason(413), do: "413 Content Too Large"
end
