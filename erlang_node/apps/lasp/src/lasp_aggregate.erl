%%% @doc The behaviour of a type whose nodes may hold sums only ({@link lasp_sync_aggregate}).
%%%
%%% A value then comes in three kinds, each of them a value of the type:
%%% <ul>
%%% <li>a node's own writes (`Own'), held by that node alone, and by a neighbour in case it
%%%     dies;</li>
%%% <li>the part replicated everywhere (`Shared'): what every node must know, and the own values of
%%%     ended incarnations, which are few;</li>
%%% <li>the sums over all nodes.</li>
%%% </ul>
%%% Sums only grow, because own values do and ended incarnations stay: the larger is the later.
-module(lasp_aggregate).

-export([add/2]).
-export([encode/1]).
-export([decode/1]).

%% Sums, by a number defined by the type; zeros are left out.
-type sums() :: #{integer() => pos_integer()}.

-export_type([sums/0]).

%% The part of a node's own change that is replicated everywhere.
-callback shared(Delta :: Value) -> Value when Value :: term().
%% A node's contribution to the sums: nothing that `total/2' finds in the shared value.
-callback contribution(Own :: term(), Shared :: term()) -> sums().
%% The value of the sums: over the contributors, and over the ended incarnations.
-callback total(sums(), Shared :: term()) -> Value :: term().
%% The part that a neighbour keeps for a node. It is shared when the node goes, and `total/2' leaves
%% it out until that incarnation is known to have ended.
-callback kept(Own :: Value) -> Value when Value :: term().
%% Shared by a leaving node: its writes, and that its incarnation has ended.
-callback departed(Own :: Value) -> Value when Value :: term().
%% Shared by a node that finds writes of its previous incarnation in the shared value: that this
%% incarnation has ended. The least value if there is nothing to share.
-callback succeeded(Own :: Value, Shared :: Value) -> Value when Value :: term().

%% @doc Adds the sums of two parts of the cluster.
-spec add(sums(), sums()) -> sums().
add(A, B) ->
    maps:merge_with(fun(_, X, Y) -> X + Y end, A, B).

%% @doc Encodes sums.
-spec encode(sums()) -> binary().
encode(Sums) ->
    lasp_parts:encode([{[What], [Sum]} || {What, Sum} <- lists:sort(maps:to_list(Sums))]).

%% @doc Decodes the result of `encode/1'; other bytes are an error, or other sums.
-spec decode(binary()) -> {ok, sums()} | error.
decode(Bytes) ->
    case lasp_parts:decode(Bytes) of
        {ok, Parts} -> sums(Parts, #{});
        error -> error
    end.

%% Internals.

sums([{[What], [Sum]} | Parts], Sums) when is_integer(What), Sum > 0 ->
    sums(Parts, Sums#{What => Sum});
sums([], Sums) ->
    {ok, Sums};
sums(_, _) ->
    error.
