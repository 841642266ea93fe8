defmodule Greeter.MixProject do
  use Mix.Project

  # The runtime is no dependency of Hex: it is found on the code path, by ERL_LIBS (Dockerfile).
  def project do
    [app: :greeter, version: "0.1.0", elixir: "~> 1.14", releases: [greeter: []]]
  end

  def application do
    [mod: {Greeter.Application, []}, extra_applications: [:partisan]]
  end
end
