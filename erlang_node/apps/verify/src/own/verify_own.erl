%%% @doc The protocols of this runtime under faults: their production modules in {@link
%%% verify_world}, each with its invariant, searched by {@link verify_own_search}.
%%%
%%% ```
%%% #{executions := Executions, failing := 0} = verify_own:run(hyparview, #{}),
%%% true = Executions >= 10000,
%%% #{failing := Failing} = verify_own:run(hyparview, #{mutation => no_keep, quick => true}),
%%% true = Failing > 0.
%%% '''
%%%
%%% Every execution has at most three of the faults drop, late and crash (the stream also has
%%% duplicate). Those with one fault are all tried, of the others a fixed share. The rotation of
%%% certificate authorities is decided by the operator, and explored in
%%% `operator/tests/rotation_search.py'.
-module(verify_own).

-compile({no_auto_import, [nodes/1]}).

-export([protocols/0]).
-export([nodes/1]).
-export([mutations/1]).
-export([run/2]).
-export([replay/3]).

-type protocol() :: hyparview | acknowledged_stream | delta | tree.
-type mutation() :: none | atom().

%% `shares': see {@link verify_own_search}. `quick': all executions with one fault, and no others.
-type options() :: #{
    mutation => mutation(),
    quick => boolean(),
    shares => [float()],
    seed => integer(),
    most => pos_integer() | infinity,
    until => end_of_search | failure,
    _ => _
}.
-type result() :: #{
    protocol := protocol(),
    mutation := mutation(),
    nodes := pos_integer(),
    faults := pos_integer(),
    executions := non_neg_integer(),
    failing := non_neg_integer(),
    complete := boolean(),
    seconds := float(),
    executions_per_s := float(),
    counterexample := none | {verify_own_search:schedule(), Why :: term()}
}.

-export_type([protocol/0, mutation/0, options/0, result/0]).

%% @doc The names of the protocols.
-spec protocols() -> [protocol()].
protocols() ->
    [hyparview, acknowledged_stream, delta, tree].

%% @doc The number of nodes.
-spec nodes(protocol()) -> pos_integer().
nodes(hyparview) -> 5;
nodes(_) -> 4.

%% @doc The changes of a protocol that its search must find.
-spec mutations(protocol()) -> [mutation(), ...].
mutations(hyparview) -> [no_keep];
mutations(acknowledged_stream) -> [acknowledges_arrival];
mutations(delta) -> [early_handover];
mutations(tree) -> [no_retransmission].

%% @doc Searches through the executions of a protocol. `{unknown, Mutation}' for a mutation that
%% it does not have.
-spec run(protocol(), options()) -> result().
run(Protocol, Options0) ->
    #{shares := Shares, mutation := Mutation} = Options = completed(Protocol, Options0),
    Started = erlang:monotonic_time(microsecond),
    #{executions := Executions} = Result = verify_own_search:run(scenario(Protocol), Options),
    Seconds = max(1, erlang:monotonic_time(microsecond) - Started) / 1000000,
    Result#{
        protocol => Protocol,
        mutation => Mutation,
        nodes => nodes(Protocol),
        faults => length(Shares),
        seconds => Seconds,
        executions_per_s => Executions / Seconds
    }.

%% @doc One execution of a protocol: the world at the end of its faults, with its trace, and the
%% verdict.
-spec replay(protocol(), verify_own_search:schedule(), options()) ->
    {verify_world:t(), verify_own_search:verdict()}.
replay(Protocol, Schedule, Options) ->
    Traced = (completed(Protocol, Options))#{trace => true},
    verify_own_search:replay(scenario(Protocol), Schedule, Traced).

%% Internals.

completed(Protocol, Options) ->
    Mutation = maps:get(mutation, Options, none),
    lists:member(Mutation, [none | mutations(Protocol)]) orelse error({unknown, Mutation}),
    Shares =
        case Options of
            #{shares := Given} -> Given;
            #{quick := true} -> [1.0];
            #{} -> shares(Protocol)
        end,
    Own = given(Protocol),
    maps:merge(Options, Own#{mutation => Mutation, shares => Shares}).

scenario(hyparview) -> verify_own_hyparview;
scenario(acknowledged_stream) -> verify_own_stream;
scenario(delta) -> verify_own_sync;
scenario(tree) -> verify_own_sync.

given(delta) -> #{protocol => lasp_sync_delta};
given(tree) -> #{protocol => lasp_sync_tree};
given(_) -> #{}.

%% More than 10,000 executions.
shares(hyparview) -> [1.0, 0.01, 0.004];
shares(acknowledged_stream) -> [1.0, 0.7, 0.004];
shares(delta) -> [1.0, 0.3, 0.004];
shares(tree) -> [1.0, 0.3, 0.004].
