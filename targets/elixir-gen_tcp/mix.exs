defmodule Bench.MixProject do
  use Mix.Project

  def project do
    [
      app: :bench,
      version: "1.0.0",
      elixir: "~> 1.14",
      build_path: "build",
      start_permanent: Mix.env() == :prod
    ]
  end

  def application do
    [mod: {Bench.Application, []}, extra_applications: [:runtime_tools]]
  end
end
