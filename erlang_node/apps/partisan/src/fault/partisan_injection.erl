%%% @doc The points of a live node at which faults are injected, and the injection itself.
%%%
%%% While no rules are set, a sender matches one field of the channel that it holds anyway
%%% ({@link partisan_channel:is_interposed/1}), and a connection one of its own, which the listener
%%% switches. That costs nothing that can be measured; a look-up here would cost 15 to 18 ns.
%%% Delays of channels in the configuration act at the same points, also without rules.
%%%
%%% The rules are those of {@link partisan_interposition}, in a persistent term. Occurrences are
%%% counted in a table, since many processes send.
-module(partisan_injection).

-export([init/0]).
%% Where messages are sent and arrive.
-export([send/5]).
-export([arrival/3]).
-export([hold/5]).
-export([is_apart/1]).
-export([is_on/0]).
%% For partisan_interposition.
-export([reset/0]).
-export([install/3]).
-export([uninstall/0]).
-export([count/2]).
-export([released/1]).
-export([crash/0]).

%% Occurrences by key and actions by rule, each of one installation; and the bytes held.
-define(COUNTS, ?MODULE).
%% Bytes of delayed messages. Beyond them, messages are dropped instead.
-define(HELD_BYTES, (64 bsl 20)).
%% Exit status of a crash: that of a process ended by SIGKILL.
-define(KILLED, 137).

-record(live, {
    % At the sender, and where messages arrive.
    faults :: partisan_fault:compiled(),
    arrivals :: partisan_fault:compiled(),
    self :: partisan_peer:name(),
    % In milliseconds of monotonic time.
    set_at :: integer(),
    installation :: installation()
}).

-type installation() :: reference().
%% Why messages are held, and where they go or come from.
-type path() :: {rule | channel, to | from, partisan_peer:name(), Channel :: atom()}.
-export_type([installation/0, path/0]).

%% @doc Creates the table of counts, owned by the caller. No rules are in force.
-spec init() -> ok.
init() ->
    ?COUNTS = ets:new(?COUNTS, [named_table, public, set, {write_concurrency, true}]),
    ok = partisan_metrics:new(
        counter,
        partisan_injected_faults_total,
        "Messages and events on which an injected fault has acted.",
        [action]
    ),
    uninstall().

%% Where messages are sent and arrive.

%% @doc Sends a message by the given function, unless a rule says otherwise. `Destination' is that
%% of the transport; `overlay' for messages of the stack.
-spec send(
    partisan_peer:name(),
    partisan_ref:destination(),
    Message :: term(),
    partisan_channel:t(),
    fun((Message :: term()) -> Result)
) -> ok | Result.
send(To, Destination, Message, Channel, Now) ->
    Transmit = delayed(To, Channel, Now),
    case live() of
        off ->
            Transmit(Message);
        #live{self = Self} = Live ->
            Inner = partisan_envelope:open(Destination, Message),
            Event = {message, now_ms(Live), Self, To, partisan_channel:name(Channel), Inner},
            case decide(Event, Live) of
                pass ->
                    Transmit(Message);
                drop ->
                    partisan_channel:dropped(Channel, injected);
                duplicate ->
                    Result = Transmit(Message),
                    _ = Transmit(Message),
                    Result;
                {replace, Other} ->
                    Transmit(partisan_envelope:replace(Destination, Message, Other));
                {delay, Ms} ->
                    Path = {rule, to, To, partisan_channel:name(Channel)},
                    hold(Ms, Path, Message, Channel, fun() -> Transmit(Message) end);
                crash ->
                    crash()
            end
    end.

%% @doc Whether a frame of a peer is to be handled, and how late. Does not return if the node
%% crashes first.
-spec arrival(partisan_peer:name(), partisan_channel:t(), partisan_frame:decoded()) ->
    now | never | {late, Milliseconds :: non_neg_integer(), path()}.
arrival(Peer, Channel, Frame) ->
    Content = content(Peer, Frame),
    Name = partisan_channel:name(Channel),
    Delay = partisan_channel:ingress_delay(Channel),
    case injected(Peer, Name, Content, Frame) of
        never -> never;
        now when Delay =:= 0; Content =:= none -> now;
        now -> {late, Delay, {channel, from, Peer, Name}};
        {delay, Ms} -> {late, Delay + Ms, {rule, from, Peer, Name}}
    end.

%% @doc Does something with a message that much later, after what the same path holds for the same
%% time. The caller does not wait. If too many bytes are held, the message is dropped.
-spec hold(
    Milliseconds :: non_neg_integer(), path(), term(), partisan_channel:t(), fun(() -> term())
) -> ok.
hold(Ms, Path, Message, Channel, Act) ->
    Bytes = erlang:external_size(Message),
    case add(held, Bytes) > ?HELD_BYTES of
        true ->
            ok = released(Bytes),
            partisan_channel:dropped(Channel, injected);
        false ->
            Due = erlang:monotonic_time(millisecond) + Ms,
            Late = fun() -> acted_late(Act(), Channel) end,
            partisan_interposition:hold(Path, Due, Bytes, Late)
    end.

%% @doc Whether a partition separates this node from a peer.
-spec is_apart(partisan_peer:name()) -> boolean().
is_apart(Peer) ->
    case live() of
        off -> false;
        Live -> is_apart(Peer, Live)
    end.

%% @doc Whether rules are in force.
-spec is_on() -> boolean().
is_on() ->
    live() =/= off.

%% For partisan_interposition.

%% @doc Ends all rules and forgets all counts, those of a dead predecessor.
-spec reset() -> ok.
reset() ->
    true = ets:delete_all_objects(?COUNTS),
    uninstall().

%% @doc Puts rules in force; their times are counted from `SetAt', milliseconds of monotonic time.
-spec install(installation(), [partisan_fault:rule()], SetAt :: integer()) -> ok.
install(Installation, Rules, SetAt) ->
    true = ets:match_delete(?COUNTS, {{'_', '_'}, '_'}),
    {Arrivals, Others} = lists:partition(fun is_ingress/1, Rules),
    persistent_term:put(?MODULE, #live{
        faults = partisan_fault:compile(Others),
        arrivals = partisan_fault:compile(Arrivals),
        self = partisan_config:get(name),
        set_at = SetAt,
        installation = Installation
    }).

%% @doc Ends all rules.
-spec uninstall() -> ok.
uninstall() ->
    persistent_term:put(?MODULE, off).

%% @doc The number of times that a rule has acted.
-spec count(installation(), Name :: binary()) -> non_neg_integer().
count(Installation, Name) ->
    case ets:lookup(?COUNTS, {Installation, {rule, Name}}) of
        [{_, Count}] -> Count;
        [] -> 0
    end.

%% @doc Notes that a delayed message of so many bytes is no longer held.
-spec released(Bytes :: non_neg_integer()) -> ok.
released(Bytes) ->
    _ = add(held, -Bytes),
    ok.

%% @doc Ends the node as SIGKILL would: nothing is flushed, and no process is notified.
-spec crash() -> no_return().
crash() ->
    erlang:halt(?KILLED, [{flush, false}]).

%% Internals.

live() ->
    persistent_term:get(?MODULE, off).

now_ms(#live{set_at = SetAt}) ->
    erlang:monotonic_time(millisecond) - SetAt.

is_ingress(#{action := {ingress_delay, _}}) -> true;
is_ingress(_) -> false.

delayed(To, Channel, Transmit) ->
    case partisan_channel:egress_delay(Channel) of
        0 ->
            Transmit;
        Ms ->
            Path = {channel, to, To, partisan_channel:name(Channel)},
            fun(M) -> hold(Ms, Path, M, Channel, fun() -> Transmit(M) end) end
    end.

%% What a frame brings to this node; `none' if it passes through, or is no message.
content(Peer, {message, Destination, Message}) ->
    {Peer, Destination, Message};
content(Peer, {overlay, Message}) ->
    {Peer, overlay, Message};
content(_Peer, {relay, {Target, Source, _, _, _}, Payload}) ->
    case partisan_config:get(name) =:= Target andalso partisan_frame:message_of(Payload) of
        {ok, {Destination, Message}} -> {Source, Destination, Message};
        _ -> none
    end;
content(_Peer, _Frame) ->
    none.

injected(Peer, Name, Content, Frame) ->
    Live = live(),
    case Live =/= off andalso is_apart(Peer, Live) of
        true -> never;
        false when Live =:= off; Content =:= none -> now;
        false -> arrived(Name, Content, Frame, Live)
    end.

arrived(Name, {From, Destination, Message}, Frame, #live{self = Self} = Live) ->
    Inner = partisan_envelope:open(Destination, Message),
    ok = survive(Frame, Inner, Live),
    case decide({message, now_ms(Live), From, Self, Name, Inner}, arrivals(Live)) of
        pass -> now;
        {delay, _} = Delay -> Delay
    end.

arrivals(#live{arrivals = Arrivals} = Live) ->
    Live#live{faults = Arrivals}.

%% Only what an application gets counts: how many messages the runtime exchanges depends on time.
survive({overlay, _}, _Inner, _Live) ->
    ok;
survive(_Frame, Inner, #live{self = Self} = Live) ->
    _ = not partisan_reach:is_service(partisan_process:type(Inner)) andalso
        decide({step, now_ms(Live), Self}, Live) =:= crash andalso crash(),
    ok.

decide(Event, #live{faults = Faults, installation = Installation} = Live) ->
    case partisan_fault:select(Faults, Event) of
        none ->
            pass;
        Selected ->
            Occurrence = add({Installation, partisan_fault:key(Event)}, 1),
            case choose(Selected, Event, Occurrence) of
                pass ->
                    pass;
                {Name, Decision} ->
                    ok = acted(Name, Decision, Live),
                    Decision
            end
    end.

%% The function of a rule may fail, and the sender may be a process of the runtime.
choose(Selected, Event, Occurrence) ->
    try
        partisan_fault:choose(Selected, Event, Occurrence)
    catch
        Class:Reason:Stacktrace ->
            logger:error("partisan: the function of a fault failed: ~0tP", [
                {Class, Reason, Stacktrace}, 20
            ]),
            pass
    end.

acted(Name, Decision, #live{installation = Installation}) ->
    _ = add({Installation, {rule, Name}}, 1),
    partisan_metrics:inc(partisan_injected_faults_total, [action(Decision)]).

action({Action, _}) -> Action;
action(Action) -> Action.

is_apart(Peer, #live{faults = Faults, self = Self} = Live) ->
    case partisan_fault:partition(Self, Peer, now_ms(Live), Faults) of
        {ok, Name} ->
            ok = acted(Name, drop, Live),
            true;
        none ->
            false
    end.

acted_late({error, _}, Channel) -> partisan_channel:dropped(Channel, injected);
acted_late(_, _Channel) -> ok.

add(Key, Count) ->
    ets:update_counter(?COUNTS, Key, Count, {Key, 0}).
