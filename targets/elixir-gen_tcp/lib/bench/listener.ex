defmodule Bench.Listener do
  @moduledoc """
  A listening socket and the tasks that accept from it. Each connection becomes a process of its own.
  """

  use Supervisor

  alias Bench.Connection

  @backlog 4096

  def child_spec(arguments) do
    %{
      id: {arguments[:options], arguments[:port]},
      start: {__MODULE__, :start_link, [arguments]},
      type: :supervisor
    }
  end

  def start_link(arguments), do: Supervisor.start_link(__MODULE__, arguments)

  @impl true
  def init(options: options, port: port, handler: handler) do
    # The socket is this supervisor's, and is closed with it.
    case :gen_tcp.listen(port, options ++ socket_options()) do
      {:ok, socket} ->
        acceptors =
          for number <- 1..System.schedulers_online(), do: acceptor(number, socket, handler)

        Supervisor.init(acceptors, strategy: :one_for_one)

      {:error, reason} ->
        exit({:cannot_listen, options, port, :inet.format_error(reason)})
    end
  end

  defp socket_options do
    [:binary, packet: :http_bin, active: false, reuseaddr: true, nodelay: true, backlog: @backlog]
  end

  defp acceptor(number, socket, handler) do
    Supervisor.child_spec({Task, fn -> accept(socket, handler) end},
      id: number,
      restart: :permanent
    )
  end

  defp accept(listening, handler) do
    {:ok, socket} = :gen_tcp.accept(listening)

    {:ok, connection} =
      Task.Supervisor.start_child(Bench.Connections, fn ->
        receive do
          :yours -> Connection.serve(socket, handler)
        end
      end)

    # The socket may have been closed by now, which its new owner will notice.
    :gen_tcp.controlling_process(socket, connection)
    send(connection, :yours)
    accept(listening, handler)
  end
end
