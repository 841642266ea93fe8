%%% @doc The behaviour of an application that keeps replicated data and spreads its changes by
%%% {@link partisan_broadcast}.
%%%
%%% The callbacks are those of upstream's `partisan_plumtree_broadcast_handler', under the same
%%% names. The application keeps the data. A change has an identifier, which says what changed and
%%% to which version, and a payload; both are any terms.
%%%
%%% == Processes ==
%%% `broadcast_data/1' runs in the process that calls {@link partisan_broadcast:send/2}, the others
%%% in processes that are this handler's alone: `exchange/1' in one of its own, the rest one after
%%% another in {@link partisan_handler}. So a callback may wait, fail or end its process; it delays
%%% only other requests for the same handler.
%%%
%%% == What a handler can rely on ==
%%% Every other node with the handler merges a change once, in any order. A node that was
%%% unreachable fetches it while its neighbours remember the identifier (the latest 128 broadcasts);
%%% after that only `exchange/1' repairs it, as it does what a full queue has dropped. So data
%%% converges if merging is idempotent, commutative and associative, and `exchange/1' compares all
%%% of it.
-module(partisan_broadcast_handler).

-export([is_handler/1]).

-type id() :: term().
-type payload() :: term().
-export_type([id/0, payload/0]).

%% Identifier and payload of a change, which the caller has made to the local data already.
-callback broadcast_data(Change :: term()) -> {id(), payload()}.
%% Merges a change of another node. `false': it was known, or superseded.
-callback merge(id(), payload()) -> boolean().
%% Whether a change that a neighbour announces is known or superseded; otherwise it is fetched.
-callback is_stale(id()) -> boolean().
%% The payload of a change, for a neighbour that misses it. `stale': a later one has superseded it.
-callback graft(id()) -> {ok, payload()} | stale | {error, term()}.
%% Compares all data with a neighbour and repairs differences, once per
%% `broadcast_exchange_interval'. A process that it returns is part of the exchange.
-callback exchange(partisan_peer:name()) -> ok | ignore | {ok, pid()} | {error, term()}.

%% @doc Whether a module has all callbacks.
-spec is_handler(term()) -> boolean().
is_handler(Module) when is_atom(Module) ->
    {module, Module} =:= code:ensure_loaded(Module) andalso
        lists:all(
            fun({Function, Arity}) -> erlang:function_exported(Module, Function, Arity) end,
            [{broadcast_data, 1}, {merge, 2}, {is_stale, 1}, {graft, 1}, {exchange, 1}]
        );
is_handler(_) ->
    false.
