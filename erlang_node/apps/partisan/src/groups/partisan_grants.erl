%%% @doc Names that a home node has granted, until it learns of their registration: a part of {@link
%%% partisan_registry}.
-module(partisan_grants).

-export([new/0]).
-export([grant/5]).
-export([settled/3]).
-export([lost/2]).
-export([round/1]).

%% Rounds that a grant lasts at most. It ends with the registration, which takes a round trip.
-define(ROUNDS, 10).

-type name() :: partisan_names:name().
-type holder() :: partisan_names:holder().
%% `replace' takes the name from any process.
-type mode() :: new | replace.
-opaque t() :: #{name() => {partisan_peer:name(), holder(), Rounds :: pos_integer()}}.
-export_type([mode/0, t/0]).

%% @doc No grants.
-spec new() -> t().
new() ->
    #{}.

%% @doc Grants a name to a process of a node, unless another one has a grant; again to the same.
-spec grant(partisan_peer:name(), name(), holder(), mode(), t()) -> {ok, t()} | taken.
grant(Node, Name, Holder, Mode, Grants) ->
    case Grants of
        #{Name := {_, Other, _}} when Other =/= Holder, Mode =:= new -> taken;
        #{} -> {ok, Grants#{Name => {Node, Holder, ?ROUNDS}}}
    end.

%% @doc The process has registered the name, or will not.
-spec settled(name(), holder(), t()) -> t().
settled(Name, Holder, Grants) ->
    case Grants of
        #{Name := {_, Holder, _}} -> maps:remove(Name, Grants);
        #{} -> Grants
    end.

%% @doc Ends the grants of a node that is lost.
-spec lost(partisan_peer:name(), t()) -> t().
lost(Node, Grants) ->
    maps:filter(fun(_, {Owner, _, _}) -> Owner =/= Node end, Grants).

%% @doc A round has passed.
-spec round(t()) -> t().
round(Grants) ->
    Left = maps:filter(fun(_, {_, _, Rounds}) -> Rounds > 1 end, Grants),
    maps:map(fun(_, {Node, Holder, Rounds}) -> {Node, Holder, Rounds - 1} end, Left).
