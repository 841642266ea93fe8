defmodule :greetings do
  # The kind of a workload is an atom without capitals, so this module has an Erlang name.
  @moduledoc "The workload of the operator, `workload.custom.module: greetings`."
  @behaviour :workload

  @impl true
  def parameters, do: %{interval: {:positive_integer, 250}, words: {:text, "good morning"}}

  @impl true
  def child_specs(%{parameters: parameters} = options) do
    given = options |> Map.take([:run, :name, :members]) |> Map.merge(parameters)
    [%{id: Greeter, start: {Greeter, :start_link, [given]}}]
  end

  @impl true
  def start(run), do: Greeter.begin(run)

  @impl true
  def status, do: Map.put(Greeter.status(), :kind, :greetings)

  @impl true
  def members(names), do: Greeter.members(names)
end
