%%% @doc The behaviour of a service on the ring: one state for each index, whose commands the seat
%%% of the index ({@link ring_seat}) executes one after the other.
%%%
%%% An index serves the partitions of which it is a replica. A command is for one of them. The data
%%% are items with keys `{Partition, Key}', so that they can be moved and copied in parts.
-module(ring_vnode).

-type index() :: ring_state:index().
-type item() :: {{ring_view:partition(), Key :: term()}, Item :: term()}.
%% The incarnation is new for each state: numbers given out by it never repeat.
-type options() :: #{
    index := index(),
    incarnation := ring_state:incarnation(),
    partitions := [ring_view:partition()]
}.
%% `now': milliseconds of the node's monotonic clock.
-type info() :: #{partition := ring_view:partition(), now := integer()}.

-export_type([item/0, options/0, info/0]).

%% The state without data.
-callback init(options()) -> State :: term().
%% Executes a command once: its reply, and the items that it has changed. If it fails, the command
%% has no effect, and its caller learns that the outcome is unknown.
-callback handle_command(Command :: term(), info(), State) ->
    {reply, Reply :: term(), Changed :: [item()], State}
when
    State :: term().
%% Folds over all items, in any order.
-callback fold(fun((Key, Item, Acc) -> Acc), Acc, State :: term()) -> Acc when
    Key :: {ring_view:partition(), term()}, Item :: term(), Acc :: term().
%% Joins items of another holder to the state: in any order, any number of times, also older ones
%% than those that are there.
-callback merge([item()], State) -> State when State :: term().
