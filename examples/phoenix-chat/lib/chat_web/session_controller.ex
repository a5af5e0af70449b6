defmodule ChatWeb.SessionController do
  @moduledoc "A name and a password are exchanged for the token that opens the socket."

  use Phoenix.Controller, formats: [:json]

  def create(conn, %{"name" => name, "password" => password})
      when is_binary(name) and is_binary(password) do
    if Chat.Users.valid?(name, password) do
      json(conn, %{token: Phoenix.Token.sign(conn, "user socket", name)})
    else
      conn |> put_status(:unauthorized) |> json(%{error: "wrong name or password"})
    end
  end
end
