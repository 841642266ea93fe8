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
    hint_count => non_neg_integer(),
    hint_bytes => non_neg_integer(),
    hint_age => non_neg_integer()
}.

-export_type([name/0, options/0]).

%% A transfer has one chunk of 256 KiB under way. Four keep 1 MiB on a link, 8 ms of 1 Gbit/s, which
%% is what a request may wait for them; over a round trip of 20 ms they carry 50 MB/s.
-define(TRANSFERS, 4).
-define(DEFAULTS, #{
    replicated => false,
    transport => ring_partisan,
    tick => 100,
    repair => never,
    grace => 60000,
    transfers => ?TRANSFERS,
    storage_delay => 0,
    hint_count => 10000,
    hint_bytes => 67108864,
    hint_age => 0
}).

%% @doc Starts a ring. `{error, Description}' names a setting that is wrong and the fix.
-spec start(name(), options()) -> ok | {error, term()}.
start(Ring, #{service := _} = Given) ->
    case maps:keys(Given) -- [service | maps:keys(?DEFAULTS)] of
        [] ->
            #{transport := Transport} = Options = maps:merge(?DEFAULTS, Given),
            case {Options, Transport:check()} of
                {#{transfers := Most}, _} when Most < 1 ->
                    {error, "transfers: must be at least 1"};
                {_, ok} ->
                    ring_app:start_ring(Ring, Options);
                {_, {error, _} = Error} ->
                    Error
            end;
        [Unknown | _] ->
            {error, lists:flatten(io_lib:format("~tp: is no option of a ring", [Unknown]))}
    end.

%% @doc Stops a ring on this node, without a handoff: first remove the node from the plan.
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
%% Errors: `unavailable', it was not executed; `timeout', the outcome is unknown.
-spec call(name(), Key :: binary(), Command :: term(), ring_call:options()) -> ring_call:result().
call(Ring, Key, Command, Options) ->
    case ring_table:partition(Ring, Key) of
        none ->
            {error, unavailable};
        Partition ->
            View = ring_table:view(Ring, Partition),
            Arguments = [Partition, Command, View, Options],
            ring_coordinator:call(Ring, ring_call, Partition, Arguments)
    end.
