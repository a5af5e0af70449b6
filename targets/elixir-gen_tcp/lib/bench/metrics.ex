defmodule Bench.Metrics do
  @moduledoc """
  Microstate accounting, what the emulator's threads have spent their time on, in Prometheus' text format and under the
  names that prometheus.erl gives it: counters in seconds, by type and number of the thread.
  """

  # `:msacc.stats/0` counts in microseconds.
  @per_second 1_000_000

  def answer(:GET, "/metrics"), do: {200, metrics()}
  def answer(_method, _path), do: {404, ""}

  defp metrics do
    [%{counters: counters} | _] = threads = :msacc.stats()
    for state <- counters |> Map.keys() |> Enum.sort(), do: metric(state, threads)
  end

  defp metric(state, threads) do
    name = "erlang_vm_msacc_#{state}_seconds_total"

    samples =
      for %{type: type, id: id, counters: %{^state => microseconds}} <- threads do
        seconds = :erlang.float_to_binary(microseconds / @per_second, decimals: 6)
        "#{name}{type=\"#{type}\",id=\"#{id}\"} #{seconds}\n"
      end

    ["# TYPE #{name} counter\n", samples]
  end
end
