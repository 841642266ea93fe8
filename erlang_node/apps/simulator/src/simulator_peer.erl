%%% @doc Simulated nodes are numbered from 1 and named `<<"n1">>', ....
-module(simulator_peer).

-export([new/2]).
-export([name/1]).
-export([index/1]).

-type index() :: pos_integer().
-export_type([index/0]).

%% @doc An incarnation of a node. The address is its number too, which is quicker to read than its
%% name.
-spec new(index(), Incarnation :: partisan_peer:incarnation()) -> partisan_peer:t().
new(Index, Incarnation) ->
    <<High, Middle, Low>> = <<Index:24>>,
    partisan_peer:new(name(Index), {10, High, Middle, Low}, 1, Incarnation).

%% @doc The name of a node.
-spec name(index()) -> partisan_peer:name().
name(Index) ->
    <<"n", (integer_to_binary(Index))/binary>>.

%% @doc The number of a node.
-spec index(partisan_peer:t() | partisan_peer:name()) -> index().
index(#{host := {10, High, Middle, Low}}) ->
    (High bsl 16) bor (Middle bsl 8) bor Low;
index(#{name := Name}) ->
    index(Name);
index(<<"n", Digits/binary>>) ->
    binary_to_integer(Digits).
