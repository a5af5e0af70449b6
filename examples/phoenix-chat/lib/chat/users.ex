defmodule Chat.Users do
  @moduledoc "Who may log in, as `users.csv` says it: a name and a password in each line."

  use Agent

  def start_link(_options), do: Agent.start_link(&read/0, name: __MODULE__)

  @doc "Whether this is somebody's name and password."
  def valid?(name, password) do
    case Agent.get(__MODULE__, & &1[name]) do
      nil -> false
      expected -> Plug.Crypto.secure_compare(expected, password)
    end
  end

  defp read do
    [_header | lines] = "users.csv" |> File.read!() |> String.split("\n", trim: true)
    Map.new(lines, fn line -> line |> String.split(",") |> List.to_tuple() end)
  end
end
