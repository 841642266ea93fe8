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
-export([digest/1]).

%% A module with this behaviour.
-type type() :: module().
%% Hash of an encoded value: equal exactly when the values are. Not meant to resist forgery; what
%% comes from outside the cluster is kept out by the transport.
-type digest() :: <<_:128>>.

-export_type([type/0, digest/0]).

%% The least value: merging it changes nothing.
-callback new() -> Value :: term().
-callback merge(Value, Value) -> Value when Value :: term().
%% The least value that joined to `Known' gives what `Value' joined to `Known' gives: what is new in
%% `Value' to one who knows `Known'.
-callback difference(Value, Known :: Value) -> Value when Value :: term().
%% The canonical form, and back; `error' for parts that are those of no value. What comes back is
%% the join of the parts, in whatever order they are.
-callback to_parts(Value :: term()) -> [lasp_parts:part()].
-callback from_parts([lasp_parts:part()]) -> {ok, Value :: term()} | error.

%% @doc The value as bytes: the CRDT payload of a message.
-spec encode(type(), Value :: term()) -> binary().
encode(Type, Value) ->
    lasp_parts:encode(Type:to_parts(Value)).

%% @doc The value that `encode/2' wrote. Anything else, however malformed, is `error': bytes from a
%% peer are checked here once, so that `merge/2' only ever sees values.
-spec decode(type(), binary()) -> {ok, Value :: term()} | error.
decode(Type, Bytes) ->
    case lasp_parts:decode(Bytes) of
        {ok, Parts} -> Type:from_parts(Parts);
        error -> error
    end.

%% @doc The digest of an encoded value.
-spec digest(binary()) -> digest().
digest(Bytes) ->
    erlang:md5(Bytes).
