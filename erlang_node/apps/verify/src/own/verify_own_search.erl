%%% @doc Executions of a protocol of ours under a bounded number of faults, each execution once.
%%%
%%% The search is depth first over the points of a world ({@link verify_world}). At each of them it
%%% tries the faults that the scenario offers, and then goes on without. A fault leads to an
%%% execution of its own, in which further faults are possible. Executions with one fault are tried
%%% in full; of those with more the search takes the given share at each point, chosen by a hash, so
%%% that early and late points are equally likely. Equal options give equal executions.
%%%
%%% No two executions have the same faults. The scenario says what the environment does after a
%%% fault, such as to restart a node, so that an execution follows from its faults alone ({@link
%%% replay/3}).
-module(verify_own_search).

-export([run/2]).
-export([replay/3]).

-type name() :: verify_world:name().
-type ms() :: non_neg_integer().
-type schedule() :: [{verify_world:key() | verify_world:crash_key(), verify_world:decision()}].
-type verdict() :: ok | {violated, Why :: term()}.
-type agenda() :: [{At :: ms(), Action :: term()}].

%% `shares': for the first, second ... fault the share of the points at which it is tried. Their
%% number is the maximum number of faults. `seed': of the choice. `most': the search ends after so
%% many executions. `until': `failure' ends it at the first failing execution.
%% The rest are options of the scenario.
-type options() :: #{
    shares := [float()],
    seed => integer(),
    most => pos_integer() | infinity,
    until => end_of_search | failure,
    _ => _
}.
%% `complete': whether the search has come to its end. `counterexample': of the failing executions
%% the first with the fewest faults.
-type result() :: #{
    executions := non_neg_integer(),
    failing := non_neg_integer(),
    complete := boolean(),
    counterexample := none | {schedule(), Why :: term()}
}.

-export_type([ms/0, schedule/0, verdict/0, agenda/0, options/0, result/0]).

%% The nodes, with all that their application will do.
-callback start(options()) -> {verify_world:t(), agenda()}.
%% No fault is tried after this time.
-callback faults_end(options()) -> ms().
%% The faults to try at a point, after those that have happened.
-callback faults(verify_world:point(), schedule(), options()) -> [verify_world:decision()].
%% What the environment does after a crash.
-callback crashed(name(), verify_world:t(), options()) -> agenda().
%% The environment acts; the invariant may be checked then.
-callback occur(Action :: term(), verify_world:t(), options()) ->
    {verify_world:t(), agenda()} | {violated, Why :: term()}.
%% Runs the world on, without faults, and checks the invariant.
-callback verdict(verify_world:t(), options()) -> verdict().

-record(search, {
    scenario :: module(),
    options :: options(),
    end_of_faults :: ms(),
    seed :: integer(),
    most :: pos_integer() | infinity,
    executions = 0 :: non_neg_integer(),
    failing = 0 :: non_neg_integer(),
    counterexample = none :: none | {schedule(), Why :: term()}
}).

%% The share is compared with a hash of that many bits.
-define(HASH, (1 bsl 24)).

%% @doc Searches through a scenario, a module of this behaviour.
-spec run(module(), options()) -> result().
run(Scenario, #{shares := Shares} = Options) ->
    Search = #search{
        scenario = Scenario,
        options = Options,
        end_of_faults = Scenario:faults_end(Options),
        seed = maps:get(seed, Options, 1),
        most = maps:get(most, Options, infinity)
    },
    {World, Agenda} = Scenario:start(Options),
    try
        found(true, explore(World, lists:sort(Agenda), Shares, [], Search))
    catch
        throw:{ended, Ended} -> found(false, Ended)
    end.

%% @doc One execution: the world at the end of its faults, and the verdict.
-spec replay(module(), schedule(), options()) -> {verify_world:t(), verdict()}.
replay(Scenario, Schedule, Options) ->
    {World, Agenda} = Scenario:start(Options),
    replay(World, lists:sort(Agenda), Schedule, Scenario, Options).

%% Internals.

%% `Shares': of the faults that may still happen.
explore(World, Agenda, [], Faults, #search{scenario = Scenario, options = Options} = Search) ->
    % Nothing is left to decide.
    {_End, Verdict} = replay(World, Agenda, [], Scenario, Options),
    finished(Verdict, Faults, Search);
explore(World0, Agenda, Shares, Faults, #search{end_of_faults = End} = Search0) ->
    case verify_world:next_until(due(Agenda, End), World0) of
        {choice, Point, World} ->
            Search = branches(tried(Point, Faults, Shares, Search0), Point, World, Agenda, Shares,
                Faults, Search0),
            explore(verify_world:choose(deliver, World), Agenda, Shares, Faults, Search);
        {quiet, World} ->
            #search{scenario = Scenario, options = Options} = Search0,
            case environment(World, Agenda, End, Scenario, Options) of
                {violated, _} = Violated -> finished(Violated, Faults, Search0);
                {World1, Later} -> explore(World1, Later, Shares, Faults, Search0);
                none -> explore(World, Agenda, [], Faults, Search0)
            end
    end.

branches(Decisions, Point, World, Agenda, [_ | Shares], Faults, #search{} = Search0) ->
    lists:foldl(
        fun(Decision, #search{scenario = Scenario, options = Options} = Search) ->
            {Decided, Later} = decide(Decision, Point, World, Agenda, Scenario, Options),
            explore(Decided, Later, Shares, [{key(Point), Decision} | Faults], Search)
        end,
        Search0,
        Decisions
    ).

tried(Point, Faults, [Share | _], #search{scenario = Scenario, options = Options, seed = Seed}) ->
    [
        Decision
     || Decision <- Scenario:faults(Point, Faults, Options),
        erlang:phash2({Seed, Faults, key(Point), Decision}, ?HASH) < Share * ?HASH
    ].

decide(crash, {event, {crash, Name, _}}, World, Agenda, Scenario, Options) ->
    Crashed = verify_world:choose(crash, World),
    {Crashed, lists:sort(Scenario:crashed(Name, Crashed, Options) ++ Agenda)};
decide(Decision, _Point, World, Agenda, _Scenario, _Options) ->
    {verify_world:choose(Decision, World), Agenda}.

%% The next action of the environment, if it is not later than that.
environment(World0, [{At, Action} | Rest], Until, Scenario, Options) when At =< Until ->
    case verify_world:error(World0) of
        none ->
            {World1, none} = verify_world:run_until(At, fun no_point/2, none, World0),
            case Scenario:occur(Action, World1, Options) of
                {violated, _} = Violated -> Violated;
                {World, More} -> {World, lists:sort(More ++ Rest)}
            end;
        _ ->
            none
    end;
environment(_World, _Agenda, _Until, _Scenario, _Options) ->
    none.

-spec no_point(verify_world:point(), none) -> no_return().
no_point(Point, none) ->
    error({undecided, Point}).

due([{At, _} | _], End) -> min(At, End);
due([], End) -> End.

key({message, Key, _Msg}) -> Key;
key({event, Key}) -> Key.

%% The rest of the execution up to the last action of the environment: at its points what the
%% schedule says.
replay(World0, Agenda, Schedule, Scenario, Options) ->
    Until =
        case {Agenda, Schedule} of
            {[{At, _} | _], _} -> At;
            {[], [_ | _]} -> Scenario:faults_end(Options);
            {[], []} -> verify_world:now(World0)
        end,
    case verify_world:next_until(Until, World0) of
        {choice, Point, World} ->
            case lists:keytake(key(Point), 1, Schedule) of
                {value, {_, Decision}, Left} ->
                    {Decided, Later} = decide(Decision, Point, World, Agenda, Scenario, Options),
                    replay(Decided, Later, Left, Scenario, Options);
                false ->
                    Delivered = verify_world:choose(deliver, World),
                    replay(Delivered, Agenda, Schedule, Scenario, Options)
            end;
        {quiet, World} ->
            case environment(World, Agenda, Until, Scenario, Options) of
                {violated, _} = Violated -> {World, Violated};
                {World1, Later} -> replay(World1, Later, Schedule, Scenario, Options);
                none -> {World, judged(Scenario, World, Options)}
            end
    end.

judged(Scenario, World, Options) ->
    case verify_world:error(World) of
        none -> Scenario:verdict(World, Options);
        Error -> {violated, Error}
    end.

finished(Verdict, Faults, #search{options = Options} = Search0) ->
    Search = counted(Verdict, lists:reverse(Faults), Search0),
    #search{executions = Executions, failing = Failing, most = Most} = Search,
    Stops = Failing > 0 andalso maps:get(until, Options, end_of_search) =:= failure,
    % A number is less than `infinity'.
    case Stops orelse Executions >= Most of
        true -> throw({ended, Search});
        false -> Search
    end.

counted(ok, _Schedule, #search{executions = Executions} = Search) ->
    Search#search{executions = Executions + 1};
counted({violated, Why}, Schedule, #search{failing = Failing, counterexample = Known} = Search) ->
    Shortest =
        case Known of
            {Shorter, _} when length(Shorter) =< length(Schedule) -> Known;
            _ -> {Schedule, Why}
        end,
    (counted(ok, Schedule, Search))#search{failing = Failing + 1, counterexample = Shortest}.

found(Complete, #search{executions = Executions, failing = Failing} = Search) ->
    #{
        executions => Executions,
        failing => Failing,
        complete => Complete,
        counterexample => Search#search.counterexample
    }.
