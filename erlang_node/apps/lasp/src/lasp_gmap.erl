%%% @doc A grow-only map from keys to replicated values, which are merged key by key.
%%%
%%% The type of the values is not kept in the map: every function that needs it is given its module
%%% (a {@link lasp_lattice}), so that a composite type states its parts where it uses them.
%%% Keys are binaries or integers.
-module(lasp_gmap).

-export([new/0]).
-export([entry/2]).
-export([get/3]).
-export([keys/1]).
-export([fold/3]).
-export([merge/3]).
-export([to_term/2]).
-export([from_term/2]).

-type key() :: binary() | integer().
-opaque t(Value) :: #{key() => Value}.

-export_type([t/1, key/0]).

%% @doc No key.
-spec new() -> t(_).
new() ->
    #{}.

%% @doc One key alone: the delta that joins `Value' to what the key holds.
-spec entry(key(), Value) -> t(Value).
entry(Key, Value) ->
    #{Key => Value}.

%% @doc What the key holds, the least value where it holds none.
-spec get(lasp_lattice:type(), key(), t(Value)) -> Value.
get(Type, Key, Map) ->
    case Map of
        #{Key := Value} -> Value;
        #{} -> Type:new()
    end.

%% @doc The keys, in order.
-spec keys(t(_)) -> [key()].
keys(Map) ->
    lists:sort(maps:keys(Map)).

%% @doc Fold over keys and values, in no order.
-spec fold(fun((key(), Value, Acc) -> Acc), Acc, t(Value)) -> Acc.
fold(Fun, Acc, Map) ->
    maps:fold(Fun, Acc, Map).

%% @doc Key by key the join of both.
-spec merge(lasp_lattice:type(), t(Value), t(Value)) -> t(Value).
merge(Type, A, B) ->
    maps:merge_with(fun(_Key, ValueA, ValueB) -> Type:merge(ValueA, ValueB) end, A, B).

%% @doc The canonical form, as {@link lasp_lattice} asks for it.
-spec to_term(lasp_lattice:type(), t(_)) -> term().
to_term(Type, Map) ->
    [{Key, Type:to_term(maps:get(Key, Map))} || Key <- keys(Map)].

%% @doc The map of a canonical form, checked through and through.
-spec from_term(lasp_lattice:type(), term()) -> {ok, t(_)} | error.
from_term(Type, Entries) ->
    try
        {ok, maps:from_list([entry_of_term(Type, Entry) || Entry <- Entries])}
    catch
        error:_ -> error
    end.

%% Internals.

entry_of_term(Type, {Key, Term}) when is_binary(Key); is_integer(Key) ->
    {ok, Value} = Type:from_term(Term),
    {copy(Key), Value}.

%% A key must not keep the message alive that it is a part of.
copy(Key) when is_binary(Key) -> binary:copy(Key);
copy(Key) -> Key.
