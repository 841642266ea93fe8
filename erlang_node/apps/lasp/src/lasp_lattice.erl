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
-export([keyed/2]).
-export([join/3]).
-export([digest/1]).

%% A module with this behaviour.
-type type() :: module().
%% Hash of an encoded value: equal exactly when the values are. Not meant to resist forgery; what
%% comes from outside the cluster is kept out by the transport.
-type digest() :: <<_:128>>.

%% What a type makes of a path, to find the leaf without taking the value apart; one for each path.
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
%% The key of a path, `error' for one that no value has; and the path of a key.
-callback key(lasp_parts:path()) -> {ok, key()} | error.
-callback path(key()) -> lasp_parts:path().
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

%% @doc The parts of a value, by their keys.
-spec keyed(type(), Value :: term()) -> [keyed()].
keyed(Type, Value) ->
    [{Key, Leaf} || {Path, Leaf} <- Type:to_parts(Value), {ok, Key} <- [Type:key(Path)]].

%% @doc A value joined with parts, in whatever order they are, and those that were new; `error'
%% where they are those of no value.
-spec join(type(), [keyed()], Value) -> {ok, New :: [keyed()], Value} | error when
    Value :: term().
join(Type, Keyed, Value) ->
    join(Type, Keyed, Value, []).

%% @doc The digest of an encoded value.
-spec digest(binary()) -> digest().
digest(Bytes) ->
    erlang:md5(Bytes).

%% Internals.

join(Type, [{Key, Leaf} = Part | Keyed], Value, New) ->
    case Type:join(Key, Leaf, Value) of
        known -> join(Type, Keyed, Value, New);
        {grown, Grown} -> join(Type, Keyed, Grown, [Part | New]);
        malformed -> error
    end;
join(_Type, [], Value, New) ->
    {ok, New, Value}.
