%%% @doc Messages that a process of the node does not know: counted, and logged once a minute.
%%%
%%% Any process may send to a registered name by mistake, and a late answer may reach a process that
%%% no longer waits for it. Neither may end a process that others depend on, nor fill the log.
-module(partisan_stray).

-export([call/1]).
-export([cast/1]).
-export([message/1]).

-define(METRIC, partisan_stray_messages_total).
-define(PERIOD_MS, 60000).

%% @doc A request that the calling process does not know. Answers with the reply to it.
-spec call(Request :: term()) -> {error, unknown_request}.
call(Request) ->
    ok = count(call, Request),
    {error, unknown_request}.

%% @doc A cast that the calling process does not know.
-spec cast(Request :: term()) -> ok.
cast(Request) ->
    count(cast, Request).

%% @doc A message that the calling process does not know.
-spec message(Message :: term()) -> ok.
message(Message) ->
    count(message, Message).

%% Internals.

count(Kind, Term) ->
    Name = name(process_info(self(), registered_name)),
    % Registered where it is first needed: again is a no-op.
    ok = partisan_metrics:new(
        counter, ?METRIC, "Messages to a process that it does not know.", [process, kind]
    ),
    ok = partisan_metrics:inc(?METRIC, [Name, Kind]),
    Now = erlang:monotonic_time(millisecond),
    case get(?MODULE) of
        Last when is_integer(Last), Now - Last < ?PERIOD_MS ->
            ok;
        _ ->
            _ = put(?MODULE, Now),
            logger:warning("partisan: ~tp has received a ~s that it does not know: ~0tP", [
                Name, Kind, Term, 12
            ])
    end.

name({registered_name, Name}) -> Name;
name([]) -> unregistered.
