%%% @doc A grow-only map from keys to replicated values, which are merged key by key.
%%%
%%% The type of the values is not kept in the map: every function that needs it is given its module
%%% (a {@link lasp_lattice}), so that a composite type states its parts where it uses them.
%%% Keys are binaries or integers.
-module(lasp_gmap).

-export([new/0]).
-export([entry/3]).
-export([get/3]).
-export([keys/1]).
-export([fold/3]).
-export([merge/3]).
-export([difference/3]).
-export([to_parts/2]).
-export([from_parts/2]).

-type key() :: binary() | integer().
%% No key holds the least value: it is left out, so that equal maps are equal terms.
-opaque t(Value) :: #{key() => Value}.

-export_type([t/1, key/0]).

%% @doc No key.
-spec new() -> t(_).
new() ->
    #{}.

%% @doc One key alone: the delta that joins `Value' to what the key holds.
-spec entry(lasp_lattice:type(), key(), Value) -> t(Value).
entry(Type, Key, Value) ->
    case Type:new() of
        Value -> new();
        _ -> #{Key => Value}
    end.

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

%% @doc What is new of each key.
-spec difference(lasp_lattice:type(), t(Value), Known :: t(Value)) -> t(Value).
difference(Type, Map, Known) ->
    Least = Type:new(),
    maps:filtermap(
        fun(Key, Value) ->
            case Type:difference(Value, get(Type, Key, Known)) of
                Least -> false;
                New -> {true, New}
            end
        end,
        Map
    ).

%% @doc The canonical form, as {@link lasp_lattice} asks for it: the key leads the path.
-spec to_parts(lasp_lattice:type(), t(_)) -> [lasp_parts:part()].
to_parts(Type, Map) ->
    [
        {[Key | Path], Leaf}
     || Key <- keys(Map), {Path, Leaf} <- Type:to_parts(maps:get(Key, Map))
    ].

%% @doc The map of a canonical form.
-spec from_parts(lasp_lattice:type(), [lasp_parts:part()]) -> {ok, t(_)} | error.
from_parts(Type, Parts) ->
    try
        Grouped = lists:foldl(fun group/2, #{}, lists:reverse(Parts)),
        {ok, maps:map(fun(_Key, Own) -> value_of_parts(Type, Own) end, Grouped)}
    catch
        throw:malformed -> error
    end.

%% Internals.

group({[Key | Path], Leaf}, Grouped) ->
    Grouped#{Key => [{Path, Leaf} | maps:get(Key, Grouped, [])]};
group(_, _) ->
    throw(malformed).

value_of_parts(Type, Parts) ->
    case Type:from_parts(Parts) of
        {ok, Value} -> Value;
        error -> throw(malformed)
    end.
