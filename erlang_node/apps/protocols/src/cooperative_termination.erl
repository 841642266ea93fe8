%%% @doc Two-phase commit with the cooperative termination protocol (Bernstein, Hadzilacos, Goodman:
%%% "Concurrency control and recovery in database systems", 1987, section 7.4).
%%%
%%% A participant that is in doubt after its timeout asks all other members once:
%%%
%%% ```
%%% in doubt           others
%%%     decision_request  -->
%%%     <--  {decision, Id, commit | abort}   has decided, or not yet prepared and now aborts
%%%     <--  {decision, Id, uncertain}        in doubt as well
%%% '''
%%% The rest is {@link two_phase_commit}. A participant whose questions are lost remains in doubt.
-module(cooperative_termination).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([symmetry/1]).

-type name() :: partisan_process:name().

-define(PARTICIPANT_TIMEOUT, 2000).

-record(state, {
    commit :: two_phase_commit:t(),
    % Milliseconds.
    timeout :: pos_integer()
}).

%% @doc `participant_timeout': milliseconds until a participant in doubt asks (2,000). Further
%% options: {@link two_phase_commit:init/1}.
-spec init(partisan_process:options()) -> {#state{}, [partisan_process:effect()]}.
init(Options) ->
    Timeout = maps:get(participant_timeout, Options, ?PARTICIPANT_TIMEOUT),
    {Commit, Effects} = two_phase_commit:init(Options),
    S = #state{commit = Commit, timeout = Timeout},
    {S, Effects ++ [timer(Id, S) || Id <- two_phase_commit:in_doubt(Commit)]}.

%% @doc Handles an event.
-spec handle(partisan_process:event(), #state{}) -> {#state{}, [partisan_process:effect()]}.
handle({message, _From, {prepare, Id, _Value}} = Event, #state{commit = Commit0} = S) ->
    {Commit, Effects} = two_phase_commit:handle(Event, Commit0),
    case {two_phase_commit:status(Id, Commit0), two_phase_commit:status(Id, Commit)} of
        {unknown, prepared} -> {S#state{commit = Commit}, [timer(Id, S) | Effects]};
        _ -> {S#state{commit = Commit}, Effects}
    end;
handle({timer, {participant, Id}}, #state{commit = Commit} = S) ->
    case two_phase_commit:status(Id, Commit) of
        prepared ->
            Others = two_phase_commit:others(Commit),
            {S, [{send, Other, {decision_request, Id}} || Other <- Others]};
        _Decided ->
            {S, []}
    end;
handle({message, From, {decision_request, Id}}, #state{commit = Commit0} = S) ->
    case two_phase_commit:status(Id, Commit0) of
        committed ->
            {S, [{send, From, {decision, Id, commit}}]};
        prepared ->
            {S, [{send, From, {decision, Id, uncertain}}]};
        _UnknownOrAborted ->
            {Commit, Effects} = two_phase_commit:decide(Id, abort, Commit0),
            {S#state{commit = Commit}, Effects ++ [{send, From, {decision, Id, abort}}]}
    end;
handle({message, _From, {decision, _Id, uncertain}}, S) ->
    {S, []};
handle({message, _From, {decision, Id, Decision}}, #state{commit = Commit0} = S) ->
    {Commit, Effects} = two_phase_commit:decide(Id, Decision, Commit0),
    {S#state{commit = Commit}, Effects};
handle(Event, #state{commit = Commit0} = S) ->
    {Commit, Effects} = two_phase_commit:handle(Event, Commit0),
    {S#state{commit = Commit}, Effects}.

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

timer(Id, #state{timeout = Timeout}) ->
    {start_timer, {participant, Id}, Timeout}.
