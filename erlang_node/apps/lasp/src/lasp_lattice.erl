%%% @doc The behaviour of a replicated value: a join semilattice with a canonical form.
%%%
%%% A value only grows: `merge/2' is the least upper bound, hence idempotent, commutative and
%%% associative, so replicas that exchange values in any order, any number of times, end up equal.
%%% A change is itself a (small) value, its *delta*, which takes effect by being merged; the
%%% synchronisation protocols never need to know what it means.
%%%
%%% Implementations keep to one representation per value: equal values are the same term (`=:=').
%%% `to_parts/1' gives that value as {@link lasp_parts}, in the order of their paths. These are
%%% written alike by every OTP release, so that the encoded form can be hashed and compared between
%%% nodes of different releases.
-module(lasp_lattice).

-export([encode/2]).
-export([decode/2]).
-export([join/3]).
-export([from_parts/2]).
-export([digest/1]).

%% A module with this behaviour.
-type type() :: module().
%% Hash of an encoded value: equal exactly when the values are. Not meant to resist forgery; what
%% comes from outside the cluster is kept out by the transport.
-type digest() :: <<_:128>>.

%% What a type makes of a path, to find the leaf without taking the value apart.
-type key() :: term().
-type keyed() :: {key(), lasp_parts:leaf()}.

-export_type([type/0, digest/0, key/0, keyed/0]).

%% The least value: merging it changes nothing.
-callback new() -> Value :: term().
-callback merge(Value, Value) -> Value when Value :: term().
%% The least value that joined to `Known' gives what `Value' joined to `Known' gives: what is new in
%% `Value' to one who knows `Known'.
-callback difference(Value, Known :: Value) -> Value when Value :: term().
%% The canonical form, and of how many parts it is.
-callback to_parts(Value :: term()) -> [lasp_parts:part()].
-callback size(Value :: term()) -> non_neg_integer().
%% The key of a path; `error' for one that no value has.
-callback key(lasp_parts:path()) -> {ok, key()} | error.
%% The leaf of a part, if the value has it.
-callback leaf(key(), Value :: term()) -> lasp_parts:leaf() | none.
%% The value joined with one part; `malformed' for a leaf that no value has there.
-callback join(key(), lasp_parts:leaf(), Value) -> known | {grown, Value} | malformed when
    Value :: term().

%% @doc The value as bytes: the CRDT payload of a message.
-spec encode(type(), Value :: term()) -> binary().
encode(Type, Value) ->
    {Bytes, _Form} = lasp_form:encode(Type, Value, none),
    Bytes.

%% @doc The value that `encode/2' wrote. Anything else, however malformed, is `error': bytes from a
%% peer are checked here once, so that `merge/2' only ever sees values.
-spec decode(type(), binary()) -> {ok, Value :: term()} | error.
decode(Type, Bytes) ->
    case lasp_form:join(Type, Bytes, Type:new(), none) of
        {ok, _New, Value} -> {ok, Value};
        error -> error
    end.

%% @doc A value joined with parts that are some value's.
-spec join(type(), [keyed()], Value) -> Value when Value :: term().
join(Type, Keyed, Value) ->
    lists:foldl(
        fun({Key, Leaf}, Acc) ->
            case Type:join(Key, Leaf, Acc) of
                {grown, Grown} -> Grown;
                known -> Acc
            end
        end,
        Value,
        Keyed
    ).

%% @doc The join of parts, in whatever order they are; `error' where they are those of no value.
-spec from_parts(type(), [lasp_parts:part()]) -> {ok, Value :: term()} | error.
from_parts(Type, Parts) ->
    from_parts(Type, Parts, Type:new()).

%% @doc The digest of an encoded value.
-spec digest(binary()) -> digest().
digest(Bytes) ->
    erlang:md5(Bytes).

%% Internals.

from_parts(Type, [{Path, Leaf} | Parts], Value) ->
    case join_at(Type, Type:key(Path), Leaf, Value) of
        known -> from_parts(Type, Parts, Value);
        {grown, Grown} -> from_parts(Type, Parts, Grown);
        malformed -> error
    end;
from_parts(_Type, [], Value) ->
    {ok, Value}.

join_at(Type, {ok, Key}, Leaf, Value) -> Type:join(Key, Leaf, Value);
join_at(_Type, error, _Leaf, _Value) -> malformed.
