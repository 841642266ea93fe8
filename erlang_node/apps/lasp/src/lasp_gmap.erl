%%% @doc A grow-only map from keys to replicated values, which are merged key by key.
%%%
%%% The map does not store the type of its values: every function that needs it takes the type's
%%% module (a {@link lasp_lattice}), so that a composite type names its parts where it uses them.
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
-export([size/2]).
-export([key/2]).
-export([path/2]).
-export([leaf/3]).
-export([join/4]).

-type key() :: binary() | integer().
%% Least values are left out, so that equal maps are equal terms.
-opaque t(Value) :: #{key() => Value}.

-export_type([t/1, key/0]).

%% @doc The empty map.
-spec new() -> t(_).
new() ->
    #{}.

%% @doc A single key: the delta that joins `Value' to the key's value.
-spec entry(lasp_lattice:type(), key(), Value) -> t(Value).
entry(Type, Key, Value) ->
    case Type:new() of
        Value -> new();
        _ -> #{Key => Value}
    end.

%% @doc The value of the key, the least value if absent.
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

%% @doc Folds over keys and values, in no particular order.
-spec fold(fun((key(), Value, Acc) -> Acc), Acc, t(Value)) -> Acc.
fold(Fun, Acc, Map) ->
    maps:fold(Fun, Acc, Map).

%% @doc Joins two maps key by key.
-spec merge(lasp_lattice:type(), t(Value), t(Value)) -> t(Value).
merge(Type, A, B) ->
    maps:merge_with(fun(_Key, ValueA, ValueB) -> Type:merge(ValueA, ValueB) end, A, B).

%% @doc The new part of each key.
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

%% @doc The canonical form, as {@link lasp_lattice} requires it: the map's key leads the path.
-spec to_parts(lasp_lattice:type(), t(_)) -> [lasp_parts:part()].
to_parts(Type, Map) ->
    [
        {[Key | Path], Leaf}
     || Key <- keys(Map), {Path, Leaf} <- Type:to_parts(maps:get(Key, Map))
    ].

%% @doc The number of parts.
-spec size(lasp_lattice:type(), t(_)) -> non_neg_integer().
size(Type, Map) ->
    maps:fold(fun(_Key, Value, Sum) -> Sum + Type:size(Value) end, 0, Map).

%% @doc The key of a path: the map's key and the one below it.
-spec key(lasp_lattice:type(), lasp_parts:path()) ->
    {ok, {key(), lasp_lattice:key()}} | error.
key(Type, [Key | Path]) ->
    case Type:key(Path) of
        {ok, Below} -> {ok, {Key, Below}};
        error -> error
    end;
key(_Type, []) ->
    error.

%% @doc The path of a key; inverse of the above.
-spec path(lasp_lattice:type(), {key(), lasp_lattice:key()}) -> lasp_parts:path().
path(Type, {Key, Below}) ->
    [Key | Type:path(Below)].

%% @doc The leaf of a part.
-spec leaf(lasp_lattice:type(), {key(), lasp_lattice:key()}, t(_)) -> lasp_parts:leaf() | none.
leaf(Type, {Key, Below}, Map) ->
    case Map of
        #{Key := Value} -> Type:leaf(Below, Value);
        #{} -> none
    end.

%% @doc Joins one part to the map.
-spec join(lasp_lattice:type(), {key(), lasp_lattice:key()}, lasp_parts:leaf(), Map) ->
    known | {grown, Map} | malformed
when
    Map :: t(term()).
join(Type, {Key, Below}, Leaf, Map) ->
    case Type:join(Below, Leaf, get(Type, Key, Map)) of
        {grown, Value} -> {grown, Map#{Key => Value}};
        Other -> Other
    end.
