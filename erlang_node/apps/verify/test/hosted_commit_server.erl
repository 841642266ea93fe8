%%% @doc Two-phase commit as an ordinary `gen_server', with the messages and timeouts of {@link
%%% two_phase_commit}.
-module(hosted_commit_server).
-behaviour(gen_server).

-export([start_link/1, broadcast/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).
%% For the explorer.
-export([scenario/1, verdict/1, symmetry/1]).

-define(TIMEOUT, 1000).

-record(state, {
    last = 0 :: non_neg_integer(),
    % By id: the client and the nodes that have not answered.
    coordinated = #{} :: #{term() => {gen_server:from(), [partisan_peer:name()]}},
    participated = #{} :: #{term() => {prepared | committed | aborted, term()}}
}).

start_link(Argument) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Argument, []).

broadcast(Value) ->
    gen_server:call(?MODULE, {broadcast, Value}).

init(_Argument) ->
    {ok, #state{}}.

handle_call({broadcast, Value}, From, #state{last = Last, coordinated = Coordinated} = S) ->
    Id = {partisan:node(), Last + 1},
    _ = erlang:send_after(?TIMEOUT, self(), {give_up, Id}),
    ok = to_all({prepare, Id, partisan:node(), Value}),
    Started = Coordinated#{Id => {From, partisan:members()}},
    {noreply, S#state{last = Last + 1, coordinated = Started}}.

handle_cast(_Unexpected, S) ->
    {noreply, S}.

handle_info({prepare, Id, From, Value}, #state{participated = Participated} = S) ->
    case Participated of
        #{Id := {prepared, _}} ->
            ok = to(From, {prepared, Id, partisan:node()}),
            {noreply, S};
        #{Id := _} ->
            {noreply, S};
        #{} ->
            ok = to(From, {prepared, Id, partisan:node()}),
            {noreply, S#state{participated = Participated#{Id => {prepared, Value}}}}
    end;
handle_info({prepared, Id, From}, #state{coordinated = Coordinated} = S) ->
    case Coordinated of
        #{Id := {Client, [From]}} ->
            gen_server:reply(Client, {ok, Id}),
            ok = to_all({commit, Id, partisan:node()}),
            {noreply, S#state{coordinated = maps:remove(Id, Coordinated)}};
        #{Id := {Client, Missing}} ->
            Waiting = {Client, lists:delete(From, Missing)},
            {noreply, S#state{coordinated = Coordinated#{Id := Waiting}}};
        #{} ->
            {noreply, S}
    end;
handle_info({give_up, Id}, #state{coordinated = Coordinated} = S) ->
    case maps:take(Id, Coordinated) of
        {{Client, _Missing}, Others} ->
            gen_server:reply(Client, {error, Id}),
            ok = to_all({abort, Id, partisan:node()}),
            {noreply, S#state{coordinated = Others}};
        error ->
            {noreply, S}
    end;
handle_info({commit, Id, From}, #state{participated = Participated} = S) ->
    ok = to(From, {commit_ack, Id}),
    {noreply, S#state{participated = decided(committed, Id, Participated)}};
handle_info({abort, Id, From}, #state{participated = Participated} = S) ->
    ok = to(From, {abort_ack, Id}),
    {noreply, S#state{participated = decided(aborted, Id, Participated)}};
handle_info({_Acknowledgement, _Id}, S) ->
    {noreply, S}.

decided(Decision, Id, Participated) ->
    case Participated of
        #{Id := {prepared, Value}} -> Participated#{Id := {Decision, Value}};
        #{Id := _} -> Participated;
        #{} -> Participated#{Id => {Decision, unknown}}
    end.

to(Node, Message) ->
    partisan:forward(Node, ?MODULE, Message).

to_all(Message) ->
    lists:foreach(fun(Node) -> ok = to(Node, Message) end, partisan:members()).

%% For the explorer.

scenario([First | _]) ->
    [{0, First, {call, broadcast, {broadcast, <<"value">>}}}].

%% As `atomic_commit', which looks at outputs: those who have committed are in the states.
verdict(#{states := States} = Outcome) ->
    Delivered = maps:map(fun(_Name, #state{participated = Participated}) ->
        [{Id, Value} || {Id, {committed, Value}} <- maps:to_list(Participated)]
    end, States),
    atomic_commit:verdict(Outcome#{delivered := Delivered}).

symmetry(Members) ->
    atomic_commit:symmetry(Members).
