defmodule Greeter do
  @moduledoc """
  Every node has a card, and calls random neighbours until it has the cards of all members.

  A call brings the caller's cards and returns those of the other node, so that a lost call, a late
  node and a node that restarts are repaired by the next one. It also says whether the run has begun:
  one start is enough.

  The server never waits for another node: it would not answer meanwhile, and two servers that call
  each other would wait in vain. A task makes the call, and casts the answer.
  """
  use GenServer

  alias Greeter.Card

  @type options :: %{
          required(:run) => String.t(),
          required(:name) => Partisan.name(),
          required(:members) => [Partisan.name()],
          required(:words) => String.t(),
          required(:interval) => pos_integer()
        }

  @doc "Starts the server of this node."
  @spec start_link(options()) :: GenServer.on_start()
  def start_link(options), do: GenServer.start_link(__MODULE__, options, name: __MODULE__)

  @doc "Begins the run, on this node; its calls begin it on the others."
  @spec begin(String.t()) :: :ok | {:error, iodata()}
  def begin(run), do: GenServer.call(__MODULE__, {:begin, run})

  @doc "The progress of this node."
  @spec status() :: map()
  def status, do: GenServer.call(__MODULE__, :status)

  @doc "Changes the members, whose cards are expected."
  @spec members([Partisan.name()]) :: :ok
  def members(names), do: GenServer.call(__MODULE__, {:members, names})

  @impl true
  def init(%{interval: interval} = options) do
    :ok = :partisan_metrics.new(:gauge, :greeter_cards, "Cards that this node has.", [])
    {:ok, _timer} = :timer.send_interval(interval, :visit)
    {:ok, Map.merge(options, %{begun: nil, finished: nil, cards: %{}})}
  end

  @impl true
  def handle_call({:begin, run}, _from, %{run: run} = state), do: {:reply, :ok, begun(state)}

  def handle_call({:begin, _other}, _from, %{run: run} = state),
    do: {:reply, {:error, ["this node runs ", run]}, state}

  def handle_call({:members, names}, _from, state),
    do: {:reply, :ok, settled(%{state | members: names})}

  def handle_call(:status, _from, state), do: {:reply, report(state), state}

  # From another node. While pods are replaced for another run, nodes of both are in the overlay.
  def handle_call({:visit, run, begun?, cards}, _from, %{run: run} = state) do
    next = received(begun?, cards, state)
    {:reply, {:welcome, next.begun != nil, next.cards}, next}
  end

  def handle_call({:visit, _run, _begun?, _cards}, _from, state), do: {:reply, :other_run, state}

  @impl true
  def handle_cast({:welcome, begun?, cards}, state),
    do: {:noreply, received(begun?, cards, state)}

  @impl true
  def handle_info(:visit, %{finished: nil} = state) do
    case Partisan.neighbours() do
      [] -> :ok
      neighbours -> visit(Enum.random(neighbours), state)
    end

    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp visit(node, %{run: run, begun: begun, cards: cards}) do
    {:ok, _pid} =
      Task.start(fn ->
        # A node that does not answer ends the task alone.
        with {:welcome, _, _} = answer <-
               Partisan.call({__MODULE__, node}, {:visit, run, begun != nil, cards}),
             do: GenServer.cast(__MODULE__, answer)
      end)

    :ok
  end

  defp received(false, _cards, state), do: state

  defp received(true, cards, state) do
    valid = for {name, %Card{from: name} = card} <- cards, into: %{}, do: {name, card}
    %{cards: present} = begun = begun(state)
    settled(%{begun | cards: Map.merge(valid, present)})
  end

  defp begun(%{begun: nil, name: name, words: words} = state) do
    card = %Card{from: name, words: words, signed: Date.utc_today()}
    settled(%{state | begun: now(), cards: %{name => card}})
  end

  defp begun(state), do: state

  defp settled(%{begun: nil} = state), do: state

  defp settled(%{finished: finished} = state) do
    count = count(state)
    :ok = :partisan_metrics.set(:greeter_cards, [], count)

    case {count == length(state.members), finished} do
      {true, nil} -> finished(state)
      {true, _} -> state
      {false, _} -> %{state | finished: nil}
    end
  end

  defp finished(state) do
    # Erlang's log: that of Elixir is an application of its own, which a pod does not start.
    :logger.notice(~c"the cards of all ~b members are here", [length(state.members)])
    %{state | finished: now()}
  end

  defp count(%{members: members, cards: cards}), do: map_size(Map.take(cards, members))

  defp report(%{members: members, cards: cards} = state) do
    %{
      run: state.run,
      phase: phase(state),
      started_at: state.begun || :null,
      finished_at: state.finished || :null,
      value: count(state),
      threshold: length(members),
      converged: state.finished != nil,
      # Equal on two nodes exactly when they have the same cards.
      digest: cards |> Map.take(members) |> :erlang.phash2() |> Integer.to_string(16)
    }
  end

  defp phase(%{begun: nil}), do: :waiting
  defp phase(%{finished: nil}), do: :running
  defp phase(_state), do: :finished

  defp now, do: System.system_time(:microsecond) / 1.0e6
end
