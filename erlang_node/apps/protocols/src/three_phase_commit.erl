%%% @doc Three-phase commit (Skeen: "Nonblocking commit protocols", SIGMOD 1981, section 6).
%%%
%%% ```
%%% coordinator            participants (the coordinator is one)
%%%     prepare   -------->  prepared
%%%     <-------- prepared
%%%     precommit -------->  precommitted      all have prepared
%%%     <-------- precommit_ack
%%%     commit    -------->  deliver           all have precommitted
%%%     <-------- commit_ack
%%% '''
%%% No participant waits for ever: after its timeout one that has prepared aborts, and one that has
%%% precommitted commits, since all have prepared. A coordinator that misses an answer aborts. Skeen
%%% assumes that messages are not lost, only sites: if `precommit_ack' and then `abort' are lost, a
%%% participant commits what the coordinator has aborted.
-module(three_phase_commit).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([symmetry/1]).

-type name() :: partisan_process:name().
-type id() :: {Coordinator :: name(), pos_integer()}.
-type status() :: prepared | precommitted | committed | aborted.

-define(COORDINATOR_TIMEOUT, 1000).
-define(PARTICIPANT_TIMEOUT, 2000).

-record(state, {
    self :: name(),
    members :: [name()],
    % Milliseconds.
    coordinator_timeout :: pos_integer(),
    participant_timeout :: pos_integer() | infinity,
    transactions = 0 :: non_neg_integer(),
    % Transactions without a decision: the answers awaited, and the members that owe them.
    coordinated = #{} :: #{id() => {prepared | precommit_ack, Ref :: term(), Missing :: [name()]}},
    participated = #{} :: #{id() => {status(), Value :: term()}}
}).

%% @doc `coordinator_timeout': milliseconds until a coordinator aborts (1,000).
%% `participant_timeout': milliseconds until a participant decides alone (2,000), or `infinity'.
-spec init(partisan_process:options()) -> {#state{}, [partisan_process:effect()]}.
init(#{persisted := #state{} = Persisted}) ->
    recover(Persisted);
init(#{self := Self, members := Members} = Options) ->
    S = #state{
        self = Self,
        members = Members,
        coordinator_timeout = maps:get(coordinator_timeout, Options, ?COORDINATOR_TIMEOUT),
        participant_timeout = maps:get(participant_timeout, Options, ?PARTICIPANT_TIMEOUT)
    },
    {S, []}.

%% @doc Handles an event.
-spec handle(partisan_process:event(), #state{}) -> {#state{}, [partisan_process:effect()]}.
handle({call, Ref, {broadcast, Value}}, #state{self = Self} = S) ->
    Number = S#state.transactions + 1,
    Id = {Self, Number},
    await(prepared, Ref, Id, {prepare, Id, Value}, S#state{transactions = Number});
handle({timer, {coordinator, Id}}, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {_Awaited, Ref, _Missing}} -> announce(abort, Ref, Id, S);
        #{} -> {S, []}
    end;
handle({message, From, {prepared, Id}}, S) ->
    answered(prepared, From, Id, S);
handle({message, From, {precommit_ack, Id}}, S) ->
    answered(precommit_ack, From, Id, S);
handle({message, _From, {Acknowledgement, _Id}}, S) when
    Acknowledgement =:= commit_ack; Acknowledgement =:= abort_ack
->
    {S, []};
handle({message, From, {prepare, Id, Value}}, S) ->
    case status(Id, S) of
        unknown -> proceed(prepared, Value, Id, [{send, From, {prepared, Id}}], S);
        _Known -> {S, []}
    end;
handle({message, From, {precommit, Id}}, S) ->
    case status(Id, S) of
        {prepared, Value} ->
            proceed(precommitted, Value, Id, [{send, From, {precommit_ack, Id}}], S);
        _ ->
            {S, []}
    end;
handle({message, From, {commit, Id}}, S) ->
    decide(commit, Id, [{send, From, {commit_ack, Id}}], S);
handle({message, From, {abort, Id}}, S) ->
    decide(abort, Id, [{send, From, {abort_ack, Id}}], S);
handle({timer, {participant, Id}}, S) ->
    case status(Id, S) of
        {prepared, _Value} -> decide(abort, Id, [], S);
        {precommitted, _Value} -> decide(commit, Id, [], S);
        _Decided -> {S, []}
    end;
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

%% Internals.

%% Coordinator.

await(Awaited, Ref, Id, Msg, #state{members = Members, coordinated = Coordinated} = S) ->
    Timer = {start_timer, {coordinator, Id}, S#state.coordinator_timeout},
    Next = S#state{coordinated = Coordinated#{Id => {Awaited, Ref, Members}}},
    persisted([Timer | to(Members, Msg)], Next).

answered(Awaited, From, Id, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {Awaited, Ref, [From]}} when Awaited =:= prepared ->
            await(precommit_ack, Ref, Id, {precommit, Id}, S);
        #{Id := {Awaited, Ref, [From]}} ->
            announce(commit, Ref, Id, S);
        #{Id := {Awaited, Ref, Missing}} ->
            Waiting = {Awaited, Ref, lists:delete(From, Missing)},
            {S#state{coordinated = Coordinated#{Id := Waiting}}, []};
        #{} ->
            {S, []}
    end.

announce(Decision, Ref, Id, #state{members = Members, coordinated = Coordinated} = S) ->
    Answer =
        case Decision of
            commit -> {ok, Id};
            abort -> {error, Id}
        end,
    Effects = [{cancel_timer, {coordinator, Id}}, {reply, Ref, Answer}],
    Decided = S#state{coordinated = maps:remove(Id, Coordinated)},
    persisted(Effects ++ to(Members, {Decision, Id}), Decided).

%% A coordinator that restarts aborts what it had not decided. A participant waits again.
recover(#state{coordinated = Coordinated, participated = Participated} = S0) ->
    Waiting = [
        Timer
     || {Id, {Status, _Value}} <- lists:sort(maps:to_list(Participated)),
        Status =:= prepared orelse Status =:= precommitted,
        Timer <- timer(Id, S0)
    ],
    lists:foldl(
        fun({Id, {_Awaited, Ref, _Missing}}, {S, Effects}) ->
            {Aborted, More} = announce(abort, Ref, Id, S),
            {Aborted, Effects ++ More}
        end,
        {S0, Waiting},
        lists:sort(maps:to_list(Coordinated))
    ).

%% Participant.

status(Id, #state{participated = Participated}) ->
    maps:get(Id, Participated, unknown).

proceed(Status, Value, Id, Effects, #state{participated = Participated} = S) ->
    Next = S#state{participated = Participated#{Id => {Status, Value}}},
    persisted(timer(Id, S) ++ Effects, Next).

decide(Decision, Id, Effects, #state{participated = Participated} = S) ->
    Decided = fun(Status, Value) ->
        S#state{participated = Participated#{Id => {Status, Value}}}
    end,
    Stop = {cancel_timer, {participant, Id}},
    case {Decision, status(Id, S)} of
        {_, {Status, _Value}} when Status =:= committed; Status =:= aborted ->
            {S, Effects};
        {commit, {_Waiting, Value}} ->
            persisted([Stop, {deliver, {Id, Value}} | Effects], Decided(committed, Value));
        {abort, {_Waiting, Value}} ->
            persisted([Stop | Effects], Decided(aborted, Value));
        {abort, unknown} ->
            persisted(Effects, Decided(aborted, undefined))
    end.

timer(_Id, #state{participant_timeout = infinity}) -> [];
timer(Id, #state{participant_timeout = Ms}) -> [{start_timer, {participant, Id}, Ms}].

persisted(Effects, S) ->
    {S, [{persist, S} | Effects]}.

to(Names, Msg) ->
    [{send, Name, Msg} || Name <- Names].
