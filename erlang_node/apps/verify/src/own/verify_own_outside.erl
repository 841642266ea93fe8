%%% @doc Outside calls of acknowledged delivery, as effects: the clock, timers, the transport,
%%% channels, callers and the application. The copies of its modules ({@link verify_own_code}) call
%%% this module within `run/2', which collects the effects.
%%%
%%% Functions have the names and results of those that they replace.
-module(verify_own_outside).

-compile({no_auto_import, [process_flag/2, get/1]}).

-export([calls/0]).
-export([run/2]).
%% Replacements.
-export([monotonic_time/1]).
-export([unique_integer/1]).
-export([process_flag/2]).
-export([start_timer/3]).
-export([cancel_timer/1]).
-export([send_after/3]).
-export([call/3]).
-export([reply/2]).
-export([get/1]).
-export([subscribe/1]).
-export([reset/0]).
-export([key/3]).
-export([begins/1]).
-export([ends/1]).
-export([find/1]).
-export([name/1]).
-export([stream/2]).
-export([lane_key/1]).
-export([is_monotonic/1]).
-export([message_limit/1]).
-export([unacknowledged_limit/1]).
-export([dropped/2]).
-export([send/5]).
-export([deliver/4]).
-export([is_congested/1]).
-export([warn/3]).

%% `numbers': how many unique numbers have been drawn. `window': bytes that may be unacknowledged.
%% `unreachable': nodes to which there is no route. `mailbox', `mailbox_limit': messages that wait
%% for the application, and how many make its mailbox congested.
-type t() :: #{
    name := partisan_peer:name(),
    incarnation := partisan_peer:incarnation(),
    now := non_neg_integer(),
    numbers := non_neg_integer(),
    window := pos_integer(),
    unreachable := #{partisan_peer:name() => true},
    mailbox := non_neg_integer(),
    mailbox_limit := pos_integer(),
    % Latest first.
    effects := [partisan_process:effect()]
}.

-export_type([t/0]).

%% Larger than any message of the application.
-define(MESSAGE_LIMIT, 1 bsl 20).

%% @doc The calls that this module replaces.
-spec calls() -> #{mfa() => module()}.
calls() ->
    maps:from_list([
        {{Module, Function, Arity}, ?MODULE}
     || {Module, Functions} <- [
            {erlang, [
                {monotonic_time, 1},
                {unique_integer, 1},
                {process_flag, 2},
                {start_timer, 3},
                {cancel_timer, 1},
                {send_after, 3}
            ]},
            {gen_server, [{call, 3}, {reply, 2}]},
            {partisan_config, [{get, 1}]},
            {partisan_manager, [{subscribe, 1}]},
            {partisan_ack_order, [{reset, 0}, {key, 3}, {begins, 1}, {ends, 1}]},
            {partisan_channel, [
                {find, 1},
                {name, 1},
                {stream, 2},
                {lane_key, 1},
                {is_monotonic, 1},
                {message_limit, 1},
                {unacknowledged_limit, 1},
                {dropped, 2}
            ]},
            {partisan_transport, [{send, 5}]},
            {partisan, [{deliver, 4}]},
            {partisan_ref, [{find, 1}]},
            {partisan_mailbox, [{is_congested, 1}]},
            {partisan_refusals, [{warn, 3}]}
        ],
        {Function, Arity} <- Functions
    ]).

%% @doc Runs a function that calls the outside.
-spec run(fun(() -> Result), t()) -> {Result, t()}.
run(Fun, Outside) ->
    undefined = put(?MODULE, Outside),
    try
        Result = Fun(),
        {Result, erase(?MODULE)}
    catch
        Class:Reason:Stack ->
            _ = erase(?MODULE),
            erlang:raise(Class, Reason, Stack)
    end.

%% Time.

%% @private
-spec monotonic_time(millisecond) -> integer().
monotonic_time(millisecond) -> field(now).

%% @private
-spec unique_integer([monotonic | positive]) -> pos_integer().
unique_integer(_Modifiers) ->
    Number = field(numbers) + 1,
    set(numbers, Number),
    Number.

%% @private
-spec process_flag(atom(), term()) -> term().
process_flag(_Flag, Value) -> Value.

%% @private
-spec start_timer(non_neg_integer(), pid(), term()) -> pos_integer().
start_timer(Delay, _Self, Message) ->
    Ref = unique_integer([]),
    effect({start_timer, {timeout, Ref, Message}, Delay}),
    Ref.

%% @private
-spec cancel_timer(pos_integer()) -> false.
cancel_timer(Ref) ->
    effect({cancel_timer, {timeout, Ref, tick}}),
    false.

%% @private
-spec send_after(non_neg_integer(), pid(), term()) -> ok.
send_after(Delay, _Self, Message) ->
    effect({start_timer, Message, Delay}).

%% Callers. A call returns its request, which the process that would be called gets from its caller.

%% @private
-spec call(module(), Request, infinity) -> Request.
call(partisan_acks, Request, infinity) -> Request.

%% @private
-spec reply(Ref :: term(), Answer :: term()) -> ok.
reply(Ref, Answer) -> effect({reply, Ref, Answer}).

%% The node.

%% @private
-spec get(name | incarnation) -> term().
get(Key) -> field(Key).

%% @private
-spec subscribe(pid()) -> ok.
subscribe(_Pid) -> ok.

%% @private
%% Messages without acknowledgement are no part of this.
-spec reset() -> ok.
reset() -> ok.

%% @private
-spec key(partisan_peer:name(), atom(), term()) -> term().
key(Node, Channel, Key) -> {Node, Channel, Key}.

%% @private
-spec begins(term()) -> ok.
begins(_Key) -> ok.

%% @private
-spec ends(term()) -> ok.
ends(_Key) -> ok.

%% Channels have one lane. A destination leads to a process of its name.

%% @private
-spec find(Name) -> {ok, Name} | Name.
find(default) -> {ok, default};
find(Destination) -> Destination.

%% @private
-spec name(Name) -> Name.
name(Channel) -> Channel.

%% @private
-spec stream(atom(), term()) -> 0.
stream(_Channel, _Key) -> 0.

%% @private
-spec lane_key(Lane) -> Lane.
lane_key(Lane) -> Lane.

%% @private
-spec is_monotonic(atom()) -> false.
is_monotonic(_Channel) -> false.

%% @private
-spec message_limit(atom()) -> pos_integer().
message_limit(_Channel) -> ?MESSAGE_LIMIT.

%% @private
-spec unacknowledged_limit(atom()) -> pos_integer().
unacknowledged_limit(_Channel) -> field(window).

%% @private
-spec dropped(atom(), atom()) -> ok.
dropped(_Channel, _Reason) -> ok.

%% Messages.

%% @private
-spec send(partisan_peer:name(), partisan_acks, Msg :: tuple(), atom(), map()) ->
    ok | {error, unreachable}.
send(Node, partisan_acks, Msg, _Channel, _Options) ->
    case field(unreachable) of
        #{Node := _} -> {error, unreachable};
        #{} -> effect({send, Node, {element(1, Msg), field(incarnation), Msg}})
    end.

%% @private
-spec deliver(partisan_peer:name(), term(), Msg :: term(), term()) -> ok.
deliver(_From, _Destination, Msg, _Default) ->
    set(mailbox, field(mailbox) + 1),
    effect({deliver, {got, field(incarnation), Msg}}).

%% @private
-spec is_congested(term()) -> boolean().
is_congested(_Destination) ->
    field(mailbox) >= field(mailbox_limit).

%% @private
%% Nothing here sends invalid messages.
-spec warn(atom(), io:format(), [term()]) -> no_return().
warn(_What, Format, Arguments) ->
    error({warning, lists:flatten(io_lib:format(Format, Arguments))}).

%% Internals.

field(Key) ->
    map_get(Key, erlang:get(?MODULE)).

set(Key, Value) ->
    Outside = erlang:get(?MODULE),
    _ = put(?MODULE, Outside#{Key := Value}),
    ok.

effect(Effect) ->
    set(effects, [Effect | field(effects)]).
