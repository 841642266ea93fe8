%%% @doc The behaviour of a replicated value: a join semilattice with a canonical form.
%%%
%%% A value only grows: `merge/2' is the least upper bound, hence idempotent, commutative and
%%% associative, so replicas that exchange values in any order, any number of times, end up equal.
%%% A change is itself a (small) value, its *delta*, which takes effect by being merged; the
%%% synchronisation protocols never need to know what it means.
%%%
%%% Implementations keep one representation per value: equal values are the same term (`=:=').
%%% `to_parts/1' returns it as {@link lasp_parts}, in path order. All OTP releases encode these
%%% alike, so that the encoded form can be hashed and compared between nodes of different releases.
-module(lasp_lattice).

-export([encode/2]).
-export([decode/2]).
-export([is_value/2]).
-export([keyed/2]).
-export([join/3]).
-export([digest/1]).

%% A module with this behaviour.
-type type() :: module().
%% Hash of an encoded value: equal if and only if the values are. Not forgery-resistant; the
%% transport keeps out data from outside the cluster.
-type digest() :: <<_:128>>.

%% A type's form of a path, to find the leaf directly; one per path.
-type key() :: term().
-type keyed() :: {key(), lasp_parts:leaf()}.

-export_type([type/0, digest/0, key/0, keyed/0]).

%% The least value: merging it changes nothing.
-callback new() -> Value :: term().
-callback merge(Value, Value) -> Value when Value :: term().
%% The part of `Value' that is new to `Known': the least value that joined to `Known' gives the same
%% as `Value' joined to `Known'.
-callback difference(Value, Known :: Value) -> Value when Value :: term().
%% The canonical form, and its number of parts.
-callback to_parts(Value :: term()) -> [lasp_parts:part()].
-callback size(Value :: term()) -> non_neg_integer().
%% The key of a path, `error' for one that no value has; and the path of a key.
-callback key(lasp_parts:path()) -> {ok, key()} | error.
-callback path(key()) -> lasp_parts:path().
%% The leaf of a part, if present.
-callback leaf(key(), Value :: term()) -> lasp_parts:leaf() | none.
%% Joins one part to the value; `malformed' for a leaf that no value has there.
-callback join(key(), lasp_parts:leaf(), Value) -> known | {grown, Value} | malformed when
    Value :: term().

%% @doc Encodes a value: the CRDT payload of a message.
-spec encode(type(), Value :: term()) -> binary().
encode(Type, Value) ->
    {Bytes, _Form} = lasp_form:encode(Type, Value, none),
    Bytes.

%% @doc Decodes a value. Other bytes, however malformed, are `error': bytes from a peer are checked
%% here once, so that `merge/2' only sees values.
-spec decode(type(), binary()) -> {ok, Value :: term()} | error.
decode(Type, Bytes) ->
    case lasp_form:join(Type, Bytes, Type:new(), none) of
        {ok, _New, Value} -> {ok, Value};
        error -> error
    end.

%% @doc Whether a term is a value of the type, one that decodes to itself.
-spec is_value(type(), term()) -> boolean().
is_value(Type, Term) ->
    try
        decode(Type, encode(Type, Term)) =:= {ok, Term}
    catch
        _:_ -> false
    end.

%% @doc The parts of a value, by key.
-spec keyed(type(), Value :: term()) -> [keyed()].
keyed(Type, Value) ->
    [{Key, Leaf} || {Path, Leaf} <- Type:to_parts(Value), {ok, Key} <- [Type:key(Path)]].

%% @doc Joins parts in any order to a value; also returns the new ones; `error' for parts that no
%% value has.
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
