%% A messaging system within one virtual machine, which records how many messages of a sender were
%% on their way at most.
-module(bench_local).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).
-export([new/0]).
-export([delete/0]).
-export([most/0]).
-export([channels/0]).

-spec new() -> ok.
new() ->
    _ = ets:new(?MODULE, [named_table, public]),
    ok.

-spec delete() -> ok.
delete() ->
    true = ets:delete(?MODULE),
    ok.

%% The most messages that a sender has had on their way.
-spec most() -> non_neg_integer().
most() ->
    lists:max([Count || [Count] <- ets:match(?MODULE, {{most, '_'}, '$1'})]).

%% The channels that messages and acknowledgements were sent on, by key.
-spec channels() -> [{integer(), bench_system:channel()}].
channels() ->
    lists:sort([{Key, Channel} || [Key, Channel] <- ets:match(?MODULE, {{used, '$1', '$2'}})]).

-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(_, _) -> ok.

-spec connect() -> ok.
connect() -> ok.

-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(Channel, Key, Receiver, {bench, _, _, _} = Message) ->
    true = ets:insert(?MODULE, {{used, Key, Channel}}),
    Change =
        case bench_system:sender(Key) of
            Receiver -> -1;
            _ -> 1
        end,
    UnderWay = ets:update_counter(?MODULE, {under_way, Key}, Change, {{under_way, Key}, 0}),
    Recorded = ets:lookup(?MODULE, {most, Key}),
    true = ets:insert(?MODULE, {{most, Key}, lists:max([UnderWay | [M || {_, M} <- Recorded]])}),
    Receiver ! Message,
    ok.
