defmodule Benchmark.Application do
  @moduledoc "An echo and broadcast server on Phoenix channels."

  use Application

  @impl true
  def start(_type, _args) do
    children = [{Phoenix.PubSub, name: Benchmark.PubSub}, BenchmarkWeb.Endpoint]
    Supervisor.start_link(children, strategy: :one_for_one, name: Benchmark.Supervisor)
  end

  @impl true
  def config_change(changed, _new, removed) do
    BenchmarkWeb.Endpoint.config_change(changed, removed)
    :ok
  end
end
