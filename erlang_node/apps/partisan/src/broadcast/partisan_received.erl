%%% @doc Which broadcasts a node has received: per origin, the numbers of its latest life.
%%%
%%% A broadcast is identified by its origin, the life of it that sent it, and a number that grows
%%% from 1; what is remembered of an origin is a {@link partisan_window}. What an older life of an
%%% origin sent late counts as received: its successor has spoken.
-module(partisan_received).

-export([new/0]).
-export([add/2]).
-export([contains/2]).

-type id() :: {Origin :: partisan_peer:name(), partisan_peer:incarnation(), pos_integer()}.

-opaque t() :: #{partisan_peer:name() => {partisan_peer:incarnation(), partisan_window:t()}}.
-export_type([id/0, t/0]).

-spec new() -> t().
new() ->
    #{}.

-spec add(id(), t()) -> t().
add({Name, Incarnation, Number}, Received) ->
    Window =
        case Received of
            #{Name := {Incarnation, W}} -> W;
            #{} -> partisan_window:new()
        end,
    Received#{Name => {Incarnation, partisan_window:add(Number, Window)}}.

-spec contains(id(), t()) -> boolean().
contains({Name, Incarnation, Number}, Received) ->
    case Received of
        #{Name := {Known, Window}} ->
            Incarnation < Known orelse
                (Incarnation =:= Known andalso partisan_window:seen(Number, Window));
        #{} ->
            false
    end.
