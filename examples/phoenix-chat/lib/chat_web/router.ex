defmodule ChatWeb.Router do
  use Phoenix.Router, helpers: false

  pipeline :api do
    plug :accepts, ["json"]
  end

  scope "/api", ChatWeb do
    pipe_through :api

    post "/session", SessionController, :create
    get "/lines", LinesController, :show
  end
end
