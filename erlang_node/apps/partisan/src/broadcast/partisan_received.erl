%%% @doc Broadcasts that a node has received: per origin, the numbers of its latest incarnation.
%%%
%%% A broadcast is identified by its origin, the origin's incarnation, and a number that grows from
%%% 1; the record of an origin is a {@link partisan_window}. A late broadcast of an older
%%% incarnation counts as received once a newer one has been heard.
-module(partisan_received).

-export([new/0]).
-export([add/2]).
-export([contains/2]).

-type id() :: {Origin :: partisan_peer:name(), partisan_peer:incarnation(), pos_integer()}.

%% Origins remembered: many times the largest cluster. By the time one is forgotten, thousands of
%% later broadcasts have come, and no node keeps that many.
-define(ORIGINS, 8192).

-opaque t() :: partisan_recent:t(
    partisan_peer:name(), {partisan_peer:incarnation(), partisan_window:t()}
).
-export_type([id/0, t/0]).

%% @doc No broadcast received.
-spec new() -> t().
new() ->
    partisan_recent:new(?ORIGINS).

%% @doc Records a broadcast as received.
-spec add(id(), t()) -> t().
add({Name, Incarnation, Number}, Received) ->
    Window =
        case partisan_recent:find(Name, Received) of
            {ok, {Incarnation, W}} -> W;
            _ -> partisan_window:new()
        end,
    partisan_recent:store(Name, {Incarnation, partisan_window:add(Number, Window)}, Received).

%% @doc Whether a broadcast counts as received.
-spec contains(id(), t()) -> boolean().
contains({Name, Incarnation, Number}, Received) ->
    case partisan_recent:find(Name, Received) of
        {ok, {Known, Window}} ->
            Incarnation < Known orelse
                (Incarnation =:= Known andalso partisan_window:seen(Number, Window));
        error ->
            false
    end.
