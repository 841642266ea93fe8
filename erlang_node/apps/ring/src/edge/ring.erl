%%% @doc Rings on this node: start one, and call a service on it.
%%%
%%% ```
%%% ok = ring:start(counters, #{service => ring_counter}),
%%% {ok, 1} = ring_manager:plan(counters, #{members => [<<"kv-0">>, <<"kv-1">>, <<"kv-2">>]}),
%%% {ok, 1} = ring:call(counters, <<"key">>, {add, <<"key">>}).
%%% '''
%%%
%%% A ring has the same name and the same options on every node. The plan is written once, on any
%%% node ({@link ring_manager}).
-module(ring).

-export([start/2]).
-export([stop/1]).
-export([preference/2]).
-export([call/3]).
-export([call/4]).

-type name() :: ring_table:ring().
%% Those of {@link ring_table}, of which `service' is required.
-type options() :: #{
    service := module(),
    replicated => boolean(),
    transport => module(),
    tick => pos_integer(),
    repair => pos_integer() | never,
    grace => non_neg_integer(),
    transfers => pos_integer() | infinity,
    storage_delay => non_neg_integer(),
    value_bytes => pos_integer(),
    hint_count => non_neg_integer(),
    hint_bytes => non_neg_integer(),
    hint_age => non_neg_integer()
}.

-export_type([name/0, options/0]).

%% @doc Starts a ring. `{error, Description}' names a setting that is wrong and the fix.
-spec start(name(), options()) -> ok | {error, term()}.
start(Ring, Given) ->
    case ring_options:complete(Ring, Given) of
        {ok, Options} -> ring_app:start_ring(Ring, Options);
        {error, _} = Error -> Error
    end.

%% @doc Stops a ring on this node, if it runs, without a handoff: first remove the node from the
%% plan.
-spec stop(name()) -> ok.
stop(Ring) ->
    ring_app:stop_ring(Ring).

%% @doc The indexes that hold a key with the nodes that serve them, in order of preference; none
%% before the first plan.
-spec preference(name(), Key :: binary()) -> [{ring_state:index(), ring_state:member()}].
preference(Ring, Key) ->
    case ring_table:partition(Ring, Key) of
        none -> [];
        Partition -> ring_view:preference(Partition, ring_table:view(Ring, Partition))
    end.

%% @equiv call(Ring, Key, Command, #{})
-spec call(name(), Key :: binary(), Command :: term()) -> ring_call:result().
call(Ring, Key, Command) ->
    call(Ring, Key, Command, #{}).

%% @doc Has the service of the ring execute a command for a key, once at most, wherever the key is.
%% Errors: `unavailable', it was not executed; `timeout', the outcome is unknown. What no call can
%% be made of is an exception: `{bad_key, Description}', `{bad_option, Description}', or `{no_ring,
%% Description}' if no ring of this name was started here.
-spec call(name(), Key :: binary(), Command :: term(), ring_call:options()) -> ring_call:result().
call(Ring, Key, Command, Given) ->
    Options = ring_options:call(Given),
    case ring_table:partition(Ring, Key) of
        none ->
            {error, unavailable};
        Partition ->
            View = ring_table:view(Ring, Partition),
            Arguments = [Partition, Command, View, Options],
            ring_coordinator:call(Ring, ring_call, Partition, Arguments)
    end.
