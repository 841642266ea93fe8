%%% @doc Two-phase commit (Lampson, Sturgis: "Crash recovery in a distributed data storage system",
%%% 1979; Bernstein, Hadzilacos, Goodman: "Concurrency control and recovery in database systems",
%%% 1987, section 7.4).
%%%
%%% ```
%%% coordinator        participants (the coordinator is one)
%%%     prepare  ------->  in doubt from now on
%%%     <------- prepared
%%%     commit   ------->  deliver          all have prepared
%%%     <------- commit_ack
%%% '''
%%% Without all `prepared' within the timeout the coordinator aborts: `abort', `abort_ack'. The
%%% caller has its answer as soon as the coordinator has decided. A participant in doubt waits for
%%% the decision, whatever happens: a lost `commit' leaves it without the value although the
%%% caller has `ok'.
%%%
%%% == Recovery ==
%%% Prepared and decided are durable before they are sent. A coordinator that restarts repeats the
%%% decisions that lack an acknowledgement, and aborts what it had not decided.
-module(two_phase_commit).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([symmetry/1]).
%% For protocols that extend this one.
-export([status/2]).
-export([in_doubt/1]).
-export([decide/3]).
-export([others/1]).

-type name() :: partisan_process:name().
-type id() :: {Coordinator :: name(), pos_integer()}.
-type status() :: unknown | prepared | committed | aborted.

-export_type([id/0, status/0, t/0]).

-define(COORDINATOR_TIMEOUT, 1000).

%% What a coordinator waits for: `Missing' are the members that have not answered.
-type phase() ::
    {preparing, Ref :: term(), Missing :: [name()]}
    | {commit | abort, Missing :: [name()]}.

-record(state, {
    self :: name(),
    members :: [name()],
    % Milliseconds.
    timeout :: pos_integer(),
    transactions = 0 :: non_neg_integer(),
    coordinated = #{} :: #{id() => phase()},
    participated = #{} :: #{id() => {status(), Value :: term()}}
}).

-opaque t() :: #state{}.

%% @doc `coordinator_timeout': milliseconds until a coordinator aborts (1,000).
-spec init(partisan_process:options()) -> {t(), [partisan_process:effect()]}.
init(#{persisted := #state{coordinated = Coordinated} = Persisted}) ->
    lists:foldl(fun recover/2, {Persisted, []}, lists:sort(maps:to_list(Coordinated)));
init(#{self := Self, members := Members} = Options) ->
    Timeout = maps:get(coordinator_timeout, Options, ?COORDINATOR_TIMEOUT),
    {#state{self = Self, members = Members, timeout = Timeout}, []}.

%% @doc Handles an event.
-spec handle(partisan_process:event(), t()) -> {t(), [partisan_process:effect()]}.
handle({call, Ref, {broadcast, Value}}, #state{members = Members} = S) ->
    Number = S#state.transactions + 1,
    Id = {S#state.self, Number},
    Started = coordinate(Id, {preparing, Ref, Members}, S#state{transactions = Number}),
    Timer = {start_timer, {coordinator, Id}, S#state.timeout},
    persisted([Timer | to(Members, {prepare, Id, Value})], Started);
handle({timer, {coordinator, Id}}, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {preparing, Ref, _Missing}} -> announce(abort, Id, [{reply, Ref, {error, Id}}], S);
        #{} -> {S, []}
    end;
handle({message, From, {prepare, Id, Value}}, S) ->
    case status(Id, S) of
        unknown -> persisted([{send, From, {prepared, Id}}], participate(Id, prepared, Value, S));
        prepared -> {S, [{send, From, {prepared, Id}}]};
        _Decided -> {S, []}
    end;
handle({message, From, {prepared, Id}}, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {preparing, Ref, [From]}} ->
            Cancel = {cancel_timer, {coordinator, Id}},
            announce(commit, Id, [Cancel, {reply, Ref, {ok, Id}}], S);
        #{Id := {preparing, Ref, Missing}} ->
            {coordinate(Id, {preparing, Ref, lists:delete(From, Missing)}, S), []};
        #{} ->
            {S, []}
    end;
handle({message, From, {commit, Id}}, S) ->
    {Decided, Effects} = decide(Id, commit, S),
    {Decided, Effects ++ [{send, From, {commit_ack, Id}}]};
handle({message, From, {abort, Id}}, S) ->
    {Decided, Effects} = decide(Id, abort, S),
    {Decided, Effects ++ [{send, From, {abort_ack, Id}}]};
handle({message, From, {commit_ack, Id}}, S) ->
    {acknowledged(commit, From, Id, S), []};
handle({message, From, {abort_ack, Id}}, S) ->
    {acknowledged(abort, From, Id, S), []};
handle({members, _Names}, S) ->
    % A transaction keeps the members that it began with.
    {S, []}.

%% @doc See {@link atomic_commit}.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    atomic_commit:scenario(Members).

%% @doc See {@link atomic_commit}.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(Outcome) ->
    atomic_commit:verdict(Outcome).

%% @doc See {@link atomic_commit}.
-spec symmetry([name()]) -> [[name()]].
symmetry(Members) ->
    atomic_commit:symmetry(Members).

%% @doc How far a transaction has come at this participant.
-spec status(id(), t()) -> status().
status(Id, #state{participated = Participated}) ->
    case Participated of
        #{Id := {Status, _Value}} -> Status;
        #{} -> unknown
    end.

%% @doc The transactions that this participant has prepared and not decided.
-spec in_doubt(t()) -> [id()].
in_doubt(#state{participated = Participated}) ->
    lists:sort([Id || {Id, {prepared, _Value}} <- maps:to_list(Participated)]).

%% @doc Decides a transaction at this participant, unless it is decided. One that is unknown here
%% was not prepared here: it can only be aborted.
-spec decide(id(), commit | abort, t()) -> {t(), [partisan_process:effect()]}.
decide(Id, Decision, #state{participated = Participated} = S) ->
    case {Participated, Decision} of
        {#{Id := {prepared, Value}}, commit} ->
            persisted([{deliver, {Id, Value}}], participate(Id, committed, Value, S));
        {#{Id := {prepared, Value}}, abort} ->
            persisted([], participate(Id, aborted, Value, S));
        {#{Id := _Decided}, _} ->
            {S, []};
        {#{}, abort} ->
            persisted([], participate(Id, aborted, undefined, S))
    end.

%% @doc The members except this one.
-spec others(t()) -> [name()].
others(#state{self = Self, members = Members}) ->
    lists:delete(Self, Members).

%% Internals.

announce(Decision, Id, Effects, #state{members = Members} = S) ->
    Decided = coordinate(Id, {Decision, Members}, S),
    persisted(Effects ++ to(Members, {Decision, Id}), Decided).

acknowledged(Decision, From, Id, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {Decision, [From]}} -> S#state{coordinated = maps:remove(Id, Coordinated)};
        #{Id := {Decision, Missing}} -> coordinate(Id, {Decision, lists:delete(From, Missing)}, S);
        #{} -> S
    end.

recover({Id, {preparing, Ref, _Missing}}, {S0, Effects0}) ->
    {S, Effects} = announce(abort, Id, [{reply, Ref, {error, Id}}], S0),
    {S, Effects0 ++ Effects};
recover({Id, {Decision, Missing}}, {S, Effects}) ->
    {S, Effects ++ to(Missing, {Decision, Id})}.

coordinate(Id, Phase, #state{coordinated = Coordinated} = S) ->
    S#state{coordinated = Coordinated#{Id => Phase}}.

participate(Id, Status, Value, #state{participated = Participated} = S) ->
    S#state{participated = Participated#{Id => {Status, Value}}}.

persisted(Effects, S) ->
    {S, [{persist, S} | Effects]}.

to(Names, Msg) ->
    [{send, Name, Msg} || Name <- Names].
