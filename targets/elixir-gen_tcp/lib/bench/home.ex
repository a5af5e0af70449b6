defmodule Bench.Home do
  @moduledoc "Says that the server is there: 200 and an empty body."

  def answer(:GET, "/"), do: {200, ""}
  def answer(_method, _path), do: {404, ""}
end
