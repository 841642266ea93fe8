%%% @doc The answers of a node to messages for an index of which it has no seat: it has lost the
%%% seat, handed it over, or never had one.
-module(ring_absent).

-export([request/3]).
-export([message/4]).

-type index() :: ring_state:index().
-type member() :: ring_state:member().

%% @doc The answer to a request, by what this node knows of the ring. The request is not executed.
-spec request(index(), Self :: member(), ring_view:t() | none) -> ring_seat:answer().
request(Index, _Self, none) ->
    {not_serving, Index};
request(Index, Self, View) ->
    case ring_view:holder(Index, View) of
        {ok, {_, Node} = Holder} when Node =/= Self -> {moved, Index, Holder};
        _ -> {not_serving, Index}
    end.

%% @doc The answer to a seat of the index on another node, if it waits for one.
-spec message(index(), Self :: member(), ring_view:t() | none, ring_seat:message()) ->
    {ok, ring_seat:message()} | none.
message(_Index, _Self, none, {pull, _, _, _}) ->
    none;
message(Index, Self, View, {pull, Incarnation, _, _}) ->
    case request(Index, Self, View) of
        {moved, Index, Holder} -> {ok, {refused, Incarnation, moved, Holder}};
        {not_serving, Index} -> {ok, {refused, Incarnation, no_data}}
    end;
message(_Index, _Self, _View, {may_go, Incarnation, _For}) ->
    {ok, {go, Incarnation}};
message(_Index, _Self, _View, _Message) ->
    none.
