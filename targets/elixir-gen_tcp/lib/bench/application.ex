defmodule Bench.Application do
  @moduledoc """
  Listens on TCP, on a unix socket if there is a path for it, and with its figures on a port of their own. Set by the
  environment: HOST, PORT, SOCKET, ADMIN_PORT.
  """

  use Application

  alias Bench.{Home, Listener, Metrics}

  @impl true
  def start(_type, _args) do
    children = [{Task.Supervisor, name: Bench.Connections} | listeners()]
    Supervisor.start_link(children, strategy: :rest_for_one, name: Bench.Supervisor)
  end

  @impl true
  def stop(_state) do
    if path = System.get_env("SOCKET"), do: File.rm(path)
  end

  defp listeners do
    {:ok, ip} = System.get_env("HOST", "127.0.0.1") |> to_charlist() |> :inet.parse_address()
    tcp = {Listener, options: [ip: ip], port: port("PORT", "3334"), handler: &Home.answer/2}
    [tcp] ++ unix(System.get_env("SOCKET")) ++ admin(ip, System.get_env("ADMIN_PORT"))
  end

  defp unix(nil), do: []

  defp unix(path) do
    File.rm(path)
    [{Listener, options: [ifaddr: {:local, path}], port: 0, handler: &Home.answer/2}]
  end

  defp admin(_ip, nil), do: []

  defp admin(ip, _port) do
    :erlang.system_flag(:microstate_accounting, true)
    [{Listener, options: [ip: ip], port: port("ADMIN_PORT", nil), handler: &Metrics.answer/2}]
  end

  defp port(name, default), do: name |> System.get_env(default) |> String.to_integer()
end
