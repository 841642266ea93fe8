%%% @doc Pruning that may miss violations: opt-in, to compare with figures that others obtained by
%%% it.
%%%
%%% {@link annotated/2} emulates the pruning of the published Partisan (`filibuster_SUITE' of
%%% lasp-lang/partisan). For each type of message an annotation names the types, and how many of
%%% each, that must be received before it is sent. Of all sets of omissions with the same
%%% classification, which preconditions hold, only the first is run. It is unsound, as it counts
%%% messages of a type without regard to their senders and receivers, and of the messages that only
%%% executions with faults send it omits either all or none.
-module(verify_unsound).

-export([inert/2]).
-export([annotated/2]).
-export([annotations/2]).

-type key() :: verify_world:key().
%% A type, and how many messages of which types precede it.
-type annotations() :: [{atom(), {Precondition :: atom(), pos_integer()}}].

-export_type([annotations/0]).

%% A run to be analysed: its messages, what was omitted in it, and its messages that the run before
%% it did not have.
-type run() :: {[key()], Omitted :: [key()], New :: [key()]}.

-record(found, {
    passed = 0 :: non_neg_integer(),
    failed = 0 :: non_neg_integer(),
    % Classifications that were run.
    explored = [] :: [[boolean()]],
    % Runs with new types of messages, and these types.
    runs = [] :: [{[atom()], run()}]
}).

%% @doc Types of messages that a search does not decide about. `learn': those whose messages have no
%% effect in the execution without faults. Unsound: in another execution they may have one.
-spec inert(verify_world:t(), map()) -> [atom()].
inert(World, #{inert := learn}) ->
    {Inert, Effective} = learn(verify_world:next(World), [], []),
    lists:usort(Inert) -- Effective;
inert(_World, #{inert := Types}) ->
    Types.

%% @doc Runs what annotations leave of the sets of omissions, then of those of the messages that
%% appeared in these runs, and so on.
-spec annotated(verify_search:t(), annotations()) ->
    #{passed := non_neg_integer(), failed := non_neg_integer()}.
annotated(Search0, Annotations) ->
    #{world := Options} = Search = verify_search:complete(Search0),
    Traced = Search#{world := Options#{trace => true}},
    World = verify_search:world(Traced),
    Base = verify_explore:base(World),
    Run = fun(Omitted) ->
        Schedule = [{Key, drop} || Key <- Omitted],
        {End, _Unmet} = verify_schedule:run(Schedule, World),
        {sent(End), verify_search:violation(Traced, End)}
    end,
    Sets = fun(Explore, F) -> subsets(Base, [], count(Base, #{}), Explore, F) end,
    First = analyse(Base, Sets, Annotations, Run, #found{}),
    #found{passed = Passed, failed = Failed} = recur(Annotations, Run, First),
    #{passed => Passed, failed => Failed}.

%% @doc Annotations of the commit protocols as published, for this many nodes.
-spec annotations(module(), Nodes :: pos_integer()) -> annotations().
annotations(two_phase_commit, Nodes) ->
    [
        {prepared, {prepare, 1}},
        {commit, {prepared, Nodes - 1}},
        {commit_ack, {commit, 1}},
        {abort_ack, {abort, 1}}
    ];
annotations(cooperative_termination, Nodes) ->
    annotations(two_phase_commit, Nodes) ++
        [{decision_request, {prepared, Nodes - 1}}, {decision, {decision_request, 1}}];
annotations(three_phase_commit, Nodes) ->
    [
        {prepared, {prepare, 1}},
        {precommit, {prepared, Nodes - 1}},
        {precommit_ack, {precommit, 1}},
        {commit, {precommit_ack, Nodes - 1}},
        {commit_ack, {commit, 1}},
        {abort_ack, {abort, 1}}
    ].

%% Internals.

learn({quiet, _World}, Inert, Effective) ->
    {Inert, Effective};
learn({choice, Point, World0}, Inert, Effective) ->
    World = verify_world:choose(deliver, World0),
    Before = verify_world:effects(World0),
    case {Point, verify_world:effects(World)} of
        {{message, {_, _, Type, _}, _}, Before} ->
            learn(verify_world:next(World), [Type | Inert], Effective);
        {{message, {_, _, Type, _}, _}, _More} ->
            learn(verify_world:next(World), Inert, [Type | Effective]);
        {{event, _}, _} ->
            learn(verify_world:next(World), Inert, Effective)
    end.

%% Calls the function with each set of omitted keys and the number of those kept, by type.
subsets([], Omitted, Kept, Explore, F) ->
    Explore(lists:reverse(Omitted), Kept, F);
subsets([{_, _, Type, _} = Key | Keys], Omitted, Kept, Explore, F0) ->
    F = subsets(Keys, Omitted, Kept, Explore, F0),
    #{Type := Number} = Kept,
    subsets(Keys, [Key | Omitted], Kept#{Type := Number - 1}, Explore, F).

count(Keys, Counts) ->
    Add = fun({_, _, Type, _}, Map) -> Map#{Type => maps:get(Type, Map, 0) + 1} end,
    lists:foldl(Add, Counts, Keys).

%% Of the runs that appeared, the messages that are new in them are all kept or all omitted.
recur(_Annotations, _Run, #found{runs = []} = F) ->
    F;
recur(Annotations, Run, #found{runs = [{_Types, {Keys, Omitted, New}} | Runs]} = F) ->
    Sets = fun(Explore, F0) ->
        F1 = Explore(Omitted, count(Keys -- Omitted, #{}), F0),
        All = Omitted ++ New,
        Explore(All, count(Keys -- All, #{}), F1)
    end,
    Analysed = analyse(Keys, Sets, Annotations, Run, F#found{runs = Runs, explored = []}),
    recur(Annotations, Run, Analysed).

analyse(Keys, Sets, Annotations, Run, F0) ->
    Explore = fun(Omitted, Kept, #found{explored = Explored} = F) ->
        Class = [maps:get(Before, Kept, 0) >= N || {_Type, {Before, N}} <- Annotations],
        case is_possible(Kept, Annotations) andalso not lists:member(Class, Explored) of
            true -> executed(Run(Omitted), Keys, Omitted, F#found{explored = [Class | Explored]});
            false -> F
        end
    end,
    Sets(Explore, F0).

%% Whether of each type that is kept the precondition is kept in part.
is_possible(Kept, Annotations) ->
    lists:all(
        fun({Type, {Before, _N}}) ->
            maps:get(Type, Kept, 0) =:= 0 orelse maps:get(Before, Kept, 0) > 0
        end,
        Annotations
    ).

executed({Sent, Verdict}, Keys, Omitted, #found{runs = Runs} = F) ->
    Types = types(Sent) -- types(Keys),
    Known = Types =:= [] orelse lists:keymember(Types, 1, Runs),
    Found =
        if
            Known -> F;
            true -> F#found{runs = Runs ++ [{Types, {Sent, Omitted, Sent -- Keys}}]}
        end,
    case Verdict of
        ok -> Found#found{passed = F#found.passed + 1};
        {violated, _Text} -> Found#found{failed = F#found.failed + 1}
    end.

types(Keys) ->
    lists:usort([Type || {_, _, Type, _} <- Keys]).

sent(World) ->
    [
        Key
     || {_At, {message, Key, _Msg, _Sent, Fate}} <- verify_world:trace(World),
        Fate =:= deliver orelse Fate =:= drop
    ].
