%%% @doc The behaviour of a type of which nodes may hold nothing but sums
%%% ({@link lasp_sync_aggregate}).
%%%
%%% A value then comes in three kinds, each of them one of the type's own:
%%% <ul>
%%% <li>what a node has written itself (`Own'), which it alone holds, and a neighbour keeps for the
%%%     case that it dies;</li>
%%% <li>what all are to hold (`Shared'): what has to be known everywhere, and the own values of the
%%%     lives of nodes that are over, of which there are few;</li>
%%% <li>the sums over everybody.</li>
%%% </ul>
%%% Sums only grow, because own values do and what is over stays: of two the larger is the later.
-module(lasp_aggregate).

-export([add/2]).
-export([encode/1]).
-export([decode/1]).

%% What is summed, by a number that means something to the type; nothing is summed to zero.
-type sums() :: #{integer() => pos_integer()}.

-export_type([sums/0]).

%% What of a node's own change all are to hold.
-callback shared(Delta :: Value) -> Value when Value :: term().
%% What a node adds to the sums: nothing that `total/2' finds in what is shared.
-callback contribution(Own :: term(), Shared :: term()) -> sums().
%% The value that holds the sums: over those who have contributed, and over the lives that are over.
-callback total(sums(), Shared :: term()) -> Value :: term().
%% What a neighbour keeps for a node. When the node goes, it is shared, and `total/2' leaves it out
%% until it is known that this life is over.
-callback kept(Own :: Value) -> Value when Value :: term().
%% To be shared by a node that leaves: what it has written, and that its life is over.
-callback departed(Own :: Value) -> Value when Value :: term().
%% To be shared by a node that finds what an earlier life of it has written among what is shared:
%% that this life is over. The least value where there is nothing to say.
-callback succeeded(Own :: Value, Shared :: Value) -> Value when Value :: term().

%% @doc The sums of two parts of the cluster.
-spec add(sums(), sums()) -> sums().
add(A, B) ->
    maps:merge_with(fun(_, X, Y) -> X + Y end, A, B).

%% @doc The sums as bytes.
-spec encode(sums()) -> binary().
encode(Sums) ->
    lasp_parts:encode([{[What], [Sum]} || {What, Sum} <- lists:sort(maps:to_list(Sums))]).

%% @doc The sums that `encode/1' wrote; anything else is an error, or other sums.
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
