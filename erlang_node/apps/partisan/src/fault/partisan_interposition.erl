%%% @doc Fault injection in a live node: installs rules ({@link partisan_fault}) and ends them.
%%%
%%% ```
%%% ok = partisan_interposition:set([
%%%     #{name => <<"lost">>, action => drop, match => #{share => 0.1}, until => 30000}
%%% ]),
%%% #{<<"lost">> := Drops} = partisan_interposition:counts(),
%%% ok = partisan_interposition:clear().
%%% '''
%%%
%%% == Where rules act ==
%%% A node applies them to the messages that it sends: at the transport, below acknowledgement, so
%%% that an injected loss is retransmitted like a real one; and to the messages of the overlay.
%%% Three actions act where messages arrive: a node that a partition separates from a peer swallows
%%% its frames, heartbeats and handshakes, a crash counts the node's events there, and
%%% `ingress_delay' delays what has arrived ({@link partisan_injection}). So other rules about
%%% messages are set at their sender, and a partition at either end; it may be set on all nodes.
%%% Messages to the own node are not subject to rules.
%%%
%%% == Time ==
%%% `since' and `until' are milliseconds after `set/1'. Rules end by themselves: after their
%%% `until', an hour at most (also if it is absent), whatever becomes of the process that set them.
%%%
%%% == Who may set rules ==
%%% Only processes of this Erlang node. No message from the network leads here: the process is one
%%% of the runtime, which {@link partisan_reach} never offers, and other nodes cannot execute the
%%% module, whatever `remote_execution' lists.
-module(partisan_interposition).

-behaviour(gen_server).

-export([start_link/0]).
-export([set/1]).
-export([clear/0]).
-export([rules/0]).
-export([counts/0]).
%% For partisan_injection.
-export([hold/4]).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% Maximum duration of a rule, in milliseconds.
-define(LONGEST, 3600000).

-record(state, {
    rules = [] :: [partisan_fault:rule()],
    % When they were set, in milliseconds of monotonic time.
    set_at = 0 :: integer(),
    installation = make_ref() :: partisan_injection:installation(),
    % Those that still hold messages, by rules of this installation or by the configuration.
    delayed = #{} :: #{partisan_injection:path() => pid()}
}).

%% API.

%% @doc Starts the process that keeps the rules of the node, without any.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Replaces the rules of this node. When it returns, they are in force for every message whose
%% sending begins, and every frame that arrives, from now on; the counts begin anew. Costs
%% milliseconds: the emulator visits every process.
-spec set([partisan_fault:rule()]) -> ok | {error, Description :: string()}.
set(Rules) ->
    case limited(Rules) of
        {ok, Limited} -> gen_server:call(?MODULE, {set, Limited}, infinity);
        {error, _} = Error -> Error
    end.

%% @doc Ends all rules. Delayed messages are still sent when they are due.
-spec clear() -> ok.
clear() ->
    set([]).

%% @doc The rules that have not ended.
-spec rules() -> [partisan_fault:rule()].
rules() ->
    gen_server:call(?MODULE, rules, infinity).

%% @doc The number of times that each rule has acted since the rules were set, those that have ended
%% included.
-spec counts() -> #{Name :: binary() => non_neg_integer()}.
counts() ->
    gen_server:call(?MODULE, counts, infinity).

%% @private Delays a message.
-spec hold(
    partisan_injection:path(), Due :: integer(), Bytes :: non_neg_integer(), fun(() -> term())
) -> ok.
hold(Path, Due, Bytes, Send) ->
    gen_server:cast(?MODULE, {hold, Path, Due, Bytes, Send}).

%% gen_server.

%% @private
-spec init([]) -> {ok, #state{}}.
init([]) ->
    ok = partisan_metrics:new(
        gauge, partisan_injected_faults, "Rules of injected faults that have not ended.", []
    ),
    % A predecessor may have left rules. The manager, which switches channels, starts later.
    ok = partisan_channel:interpose(false),
    ok = partisan_injection:reset(),
    {ok, shown(#state{})}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({set, Rules}, {Pid, _}, State) when node(Pid) =:= node() ->
    {reply, ok, set(Rules, State)};
handle_call(rules, _From, State) ->
    {reply, lasting(State), State};
handle_call(counts, _From, #state{rules = Rules, installation = Installation} = State) ->
    Counts = [{Name, partisan_injection:count(Installation, Name)} || #{name := Name} <- Rules],
    {reply, maps:from_list(Counts), State};
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast({hold, Path, Due, Bytes, Send}, #state{delayed = Delayed} = State) ->
    case Delayed of
        #{Path := Pid} ->
            ok = partisan_delayed:hold(Pid, Due, Bytes, Send),
            {noreply, State};
        #{} ->
            Pid = partisan_delayed:start_link(),
            ok = partisan_delayed:hold(Pid, Due, Bytes, Send),
            {noreply, State#state{delayed = Delayed#{Path => Pid}}}
    end;
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info({ends, Installation}, #state{installation = Installation} = State) ->
    {noreply, ended(State)};
handle_info({ends, _Previous}, State) ->
    {noreply, State};
handle_info({crash, Installation}, #state{installation = Installation}) ->
    partisan_injection:crash();
handle_info({crash, _Previous}, State) ->
    {noreply, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

%% Valid rules, each with an end.
limited(Rules) ->
    case partisan_fault:check(Rules) of
        ok -> ending([maps:merge(#{until => ?LONGEST}, Rule) || Rule <- Rules]);
        {error, _} = Error -> Error
    end.

ending(Rules) ->
    case [Rule || #{until := Until} = Rule <- Rules, Until > ?LONGEST] of
        [#{name := Name, until := Until} | _] ->
            Text = "rule ~ts: `until` is ~b; give at most ~b, an hour",
            {error, lists:flatten(io_lib:format(Text, [Name, Until, ?LONGEST]))};
        [] ->
            % The end by default may be before `since'.
            case partisan_fault:check(Rules) of
                ok -> {ok, Rules};
                {error, _} = Error -> Error
            end
    end.

set(Rules, Previous) ->
    #state{} = finished(Previous),
    State = #state{rules = Rules, set_at = now_ms()},
    #state{set_at = SetAt, installation = Installation} = State,
    ok = partisan_injection:install(Installation, Rules, SetAt),
    ok = interpose(true),
    lists:foreach(
        fun({Message, At}) -> erlang:send_after(At, self(), {Message, Installation}) end,
        [{ends, At} || At <- lists:usort([Until || #{until := Until} <- Rules])] ++
            [{crash, At} || At <- crashes(Rules)]
    ),
    ended(State).

%% When this node crashes without waiting for its next event.
crashes(Rules) ->
    Self = partisan_config:get(name),
    [
        maps:get(since, Rule, 0)
     || #{action := crash} = Rule <- Rules, is_for(Self, maps:get(match, Rule, #{}))
    ].

is_for(_Self, #{event := _}) -> false;
is_for(Self, #{node := Nodes}) when is_list(Nodes) -> lists:member(Self, Nodes);
is_for(Self, #{node := Node}) -> Self =:= Node;
is_for(_Self, #{}) -> true.

%% Each rule ends by itself; the last one switches interposition off.
ended(State) ->
    case lasting(State) of
        [] ->
            ok = interpose(false),
            ok = partisan_injection:uninstall(),
            shown(finished(State));
        _ ->
            shown(State)
    end.

%% Of senders, then of connections.
interpose(Interposed) ->
    ok = partisan_manager:interpose(Interposed),
    partisan_listener:interpose(Interposed).

%% Delays of channels outlast the rules, so that their messages stay in order.
finished(#state{delayed = Delayed} = State) ->
    Rules = [{Path, Pid} || {{rule, _, _, _} = Path, Pid} <- maps:to_list(Delayed)],
    lists:foreach(fun({_, Pid}) -> ok = partisan_delayed:finish(Pid) end, Rules),
    State#state{delayed = maps:without([Path || {Path, _} <- Rules], Delayed)}.

shown(State) ->
    ok = partisan_metrics:set(partisan_injected_faults, [], length(lasting(State))),
    State.

lasting(#state{rules = Rules, set_at = SetAt}) ->
    Now = now_ms() - SetAt,
    [Rule || #{until := Until} = Rule <- Rules, Now < Until].

now_ms() ->
    erlang:monotonic_time(millisecond).
