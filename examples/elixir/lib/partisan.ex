defmodule Partisan do
  @moduledoc """
  The runtime with Elixir's names: processes on other nodes, without Distributed Erlang.

  A process is `{name, node}`, where a node is a binary such as `"greeters-0"`, or a reference made by
  `self/0`. Terms and structs arrive as they were sent; a raw pid does not mean the same process
  elsewhere. Each function is one of the modules `:partisan` and `:partisan_nodes`, which have more.
  """

  @type name :: String.t()
  @type target :: {atom(), name()} | tuple()

  @doc "The name of this node."
  @spec node() :: name()
  def node, do: :partisan.node()

  @doc "A reference to the calling process that means the same on every node."
  @spec self() :: tuple()
  def self, do: :partisan.self()

  @doc "The members that this node knows, itself included: in a partial view not all."
  @spec members() :: [name()]
  def members, do: :partisan.members()

  @doc "The members that this node has connections to."
  @spec neighbours() :: [name()]
  def neighbours, do: :partisan.neighbours()

  @doc "Whether this node is part of the overlay."
  @spec joined?() :: boolean()
  def joined?, do: :partisan.joined()

  @doc """
  Sends a message. `:ok` means that it is queued, with `ack: true` that the other node has it.

  Options: `:channel`, `:partition_key`, `:on_busy` (`:block`, `:error`, `:drop`), `:timeout`, `:ttl`,
  `:ack`, `:causal`.
  """
  @spec send(target(), term(), keyword()) :: :ok | {:error, term()}
  def send(target, message, options \\ []),
    do: :partisan.forward(target, message, Map.new(options))

  @doc "Calls a `GenServer` on any node, as `GenServer.call/3` does, and exits as it does."
  @spec call(target(), term(), timeout(), keyword()) :: term()
  def call(target, request, timeout \\ 5000, options \\ []),
    do: :partisan.call(target, request, timeout, Map.new(options))

  @doc "Casts to a `GenServer` on any node. The options are those of `send/3`."
  @spec cast(target(), term(), keyword()) :: :ok | {:error, term()}
  def cast(target, request, options \\ []),
    do: :partisan.cast(target, request, Map.new(options))

  @doc "Monitors a process; `{:DOWN, reference, :process, target, reason}` follows once."
  @spec monitor(target()) :: reference()
  def monitor(target), do: :partisan.monitor(:process, target)

  @doc "Ends a monitor. Its `:DOWN` does not come afterwards, or remain in the mailbox."
  @spec demonitor(reference()) :: true
  def demonitor(reference), do: :partisan.demonitor(reference)

  @doc """
  Subscribes the caller to `{:nodeup, node}` and `{:nodedown, node}` of neighbours; `false` ends its
  subscriptions with these options.

  Options: `:nodedown_reason` and `node_type: :all`, with which the messages are
  `{:nodeup, node, info}` and `{:nodedown, node, info}`.
  """
  @spec monitor_nodes(boolean(), [atom() | {atom(), term()}]) :: :ok
  def monitor_nodes(flag, options \\ []), do: :partisan_nodes.monitor_nodes(flag, options)

  @doc "Subscribes a process to a topic: it receives `{:partisan, {:published, topic, message}}`."
  @spec subscribe(term(), pid()) :: :ok
  def subscribe(topic, pid \\ Kernel.self()), do: :partisan.subscribe(topic, pid)

  @doc "Ends a process's subscription to a topic."
  @spec unsubscribe(term(), pid()) :: :ok
  def unsubscribe(topic, pid \\ Kernel.self()), do: :partisan.unsubscribe(topic, pid)

  @doc "Publishes a message to the subscribers of a topic on all nodes."
  @spec publish(term(), term()) :: :ok | {:error, term()}
  def publish(topic, message), do: :partisan.publish(topic, message)

  @doc "The name under which OTP's own modules reach a process: `GenServer.call(via(...), request)`."
  @spec via(target()) :: {:via, :partisan, target()}
  def via(target), do: {:via, :partisan, target}
end
