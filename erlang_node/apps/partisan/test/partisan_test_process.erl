%%% A process that does as it is asked, and delivers all other events.
-module(partisan_test_process).
-behaviour(partisan_process).

-export([init/1, handle/2]).

init(Options) ->
    {Options, []}.

handle({call, Ref, options}, Options) ->
    {Options, [{reply, Ref, Options}]};
handle({call, Ref, {effects, Effects}}, Options) ->
    {Options, Effects ++ [{reply, Ref, ok}]};
handle({message, _From, {effects, Effects}}, Options) ->
    {Options, Effects};
handle(Event, Options) ->
    {Options, [{deliver, Event}]}.
