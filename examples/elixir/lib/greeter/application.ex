defmodule Greeter.Application do
  @moduledoc """
  The application of the release: supervises the server, and begins the run.

  In a pod it is not started: there the node supervises the workload.
  """
  use Application

  @impl true
  def start(_type, _arguments) do
    options = %{
      run: "greeter",
      name: Partisan.node(),
      members: Application.fetch_env!(:greeter, :members),
      words: "good morning from #{Partisan.node()}",
      interval: 250
    }

    with {:ok, _pid} = started <-
           Supervisor.start_link([{Greeter, options}], strategy: :one_for_one),
         :ok <- Greeter.begin("greeter"),
         do: started
  end
end
