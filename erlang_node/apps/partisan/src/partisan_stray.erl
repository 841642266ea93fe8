%%% @doc Unexpected messages to a process of the node: counted, and logged once a minute.
%%%
%%% Any process may send to a registered name by mistake, and a late answer may reach a process that
%%% no longer waits for it. Neither may end a process that others depend on, nor fill the log.
-module(partisan_stray).

-export([call/1]).
-export([cast/1]).
-export([message/1]).

-define(METRIC, partisan_stray_messages_total).
-define(PERIOD_MS, 60000).

%% @doc Handles an unexpected request to the calling process. Returns the reply.
-spec call(Request :: term()) -> {error, unknown_request}.
call(Request) ->
    ok = count(call, Request),
    {error, unknown_request}.

%% @doc Handles an unexpected cast to the calling process.
-spec cast(Request :: term()) -> ok.
cast(Request) ->
    count(cast, Request).

%% @doc Handles an unexpected message to the calling process.
-spec message(Message :: term()) -> ok.
message(Message) ->
    count(message, Message).

%% Internals.

count(Kind, Term) ->
    Name = name(process_info(self(), registered_name)),
    % Registered where it is first needed. Idempotent.
    ok = partisan_metrics:new(
        counter, ?METRIC, "Unexpected messages to a process.", [process, kind]
    ),
    ok = partisan_metrics:inc(?METRIC, [Name, Kind]),
    Now = erlang:monotonic_time(millisecond),
    case get(?MODULE) of
        Last when is_integer(Last), Now - Last < ?PERIOD_MS ->
            ok;
        _ ->
            _ = put(?MODULE, Now),
            logger:warning("partisan: ~tp received an unexpected ~s: ~0tP", [
                Name, Kind, Term, 12
            ])
    end.

name({registered_name, Name}) -> Name;
name([]) -> unregistered.
