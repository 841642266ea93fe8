defmodule Greeter.Card do
  @moduledoc "A node's greeting, which travels to the other nodes as it is: a struct with others in it."

  @enforce_keys [:from, :words]
  defstruct [:from, :words, signed: ~D[1970-01-01], tags: MapSet.new([:greeting])]

  @type t :: %__MODULE__{
          from: Partisan.name(),
          words: String.t(),
          signed: Date.t(),
          tags: MapSet.t()
        }
end
