defmodule ChatWeb.LinesController do
  use Phoenix.Controller, formats: [:json]

  def show(conn, _params), do: json(conn, %{lines: Chat.Lines.count()})
end
