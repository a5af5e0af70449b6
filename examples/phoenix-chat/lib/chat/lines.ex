defmodule Chat.Lines do
  @moduledoc "Counts lines, to compare with those of a load."

  use Agent

  def start_link(_options), do: Agent.start_link(fn -> 0 end, name: __MODULE__)

  def add, do: Agent.cast(__MODULE__, &(&1 + 1))

  def count, do: Agent.get(__MODULE__, & &1)
end
