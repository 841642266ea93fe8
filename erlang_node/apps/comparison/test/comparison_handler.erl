%%% An event handler that shows what it has received.
-module(comparison_handler).
-behaviour(gen_event).

-export([init/1, handle_event/2, handle_call/2, terminate/2]).

init(Seen) ->
    {ok, Seen}.

handle_event({error, Reason}, _Seen) ->
    error(Reason);
handle_event(Event, Seen) ->
    {ok, [Event | Seen]}.

handle_call(seen, Seen) ->
    {ok, lists:reverse(Seen), Seen};
handle_call({echo, Term}, Seen) ->
    {ok, Term, Seen};
handle_call({error, Reason}, _Seen) ->
    error(Reason);
handle_call(wait, _Seen) ->
    receive never -> ok end;
handle_call(remove, _Seen) ->
    {remove_handler, removed};
handle_call(kill, _Seen) ->
    exit(self(), kill).

terminate(_Reason, Seen) ->
    Seen.
