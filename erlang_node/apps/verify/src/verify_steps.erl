%%% @doc The trace of an execution as text: every step, or its faults and calls alone.
%%%
%%% The summary is in the notation of counterexamples of models ({@link verify_notation}):
%%%
%%% ```
%%% fault omission n1 n2 commit
%%% n1 broadcast value : OK, {n1,1}
%%% '''
-module(verify_steps).

-export([lines/1]).
-export([summary/1]).
-export([fault/1]).
-export([request/1]).
-export([term/1]).

%% @doc A line for each step.
-spec lines([verify_world:entry()]) -> [unicode:chardata()].
lines(Trace) ->
    [io_lib:format("~6b ms  ~ts", [At, happened(What)]) || {At, What} <- Trace].

%% @doc The faults, then the calls with their answers.
-spec summary([verify_world:entry()]) -> [unicode:chardata()].
summary(Trace) ->
    Replies = [{{Name, Ref}, Answer} || {_, {reply, Name, Ref, Answer}} <- Trace],
    [fault(Step) || Step <- verify_schedule:from_trace(Trace)] ++
        [
            [Name, $\s, request(Request), " : ", answer(lists:keyfind({Name, Ref}, 1, Replies))]
         || {_, {event, Name, {call, Ref, Request}}} <- Trace
        ].

%% @doc A decision of a schedule.
-spec fault(verify_schedule:step()) -> unicode:chardata().
fault({{crash, Name, Number}, crash}) ->
    io_lib:format("fault crash ~ts ~b", [Name, Number]);
fault({{From, To, Type, _} = Key, Decision}) ->
    ["fault ", decision(Decision), $\s, From, $\s, To, $\s, atom_to_binary(Type), occurrence(Key)].

%% @doc The request of a call: the elements of a tuple as words.
-spec request(term()) -> unicode:chardata().
request(Request) when is_tuple(Request), tuple_size(Request) > 0 ->
    lists:join($\s, [term(Element) || Element <- tuple_to_list(Request)]);
request(Request) ->
    term(Request).

%% @doc A term on one line, with names and other texts as they are.
-spec term(term()) -> unicode:chardata().
term(Text) when is_binary(Text) -> Text;
term(Term) ->
    re:replace(io_lib:format("~0tp", [Term]), <<"<<\"([^\"\\\\]*)\">>"/utf8>>, <<"\\1">>, [
        global, unicode
    ]).

%% Internals.

happened({message, {From, To, _, _} = Key, Msg, _Sent, Fate}) ->
    [From, " -> ", To, "  ", term(Msg), occurrence(Key), fate(Fate)];
happened({event, Name, {call, _Ref, Request}}) ->
    [Name, "  ", request(Request)];
happened({event, Name, {timer, Timer}}) ->
    [Name, "  timer ", term(Timer)];
happened({event, Name, Event}) ->
    [Name, "  ", term(Event)];
happened({deliver, Name, Term}) ->
    [Name, "  delivers ", term(Term)];
happened({reply, Name, _Ref, Answer}) ->
    [Name, "  answers ", term(Answer)];
happened({crash, Name, Number}) ->
    io_lib:format("~ts  CRASHES before its event ~b", [Name, Number]);
happened({restart, Name}) ->
    [Name, "  starts again"];
happened({failed, {crashed, Name, Event, Class, Reason, _Stack}}) ->
    [Name, "  FAILS on ", term(Event), ": ", term(Class), " ", term(Reason)];
happened({failed, {looping, Name, Event}}) ->
    [Name, "  DOES NOT RETURN from ", term(Event)].

fate(deliver) -> "";
fate(drop) -> "  DROPPED";
fate(lost) -> "  lost, the receiver is down";
fate(late) -> "  LATE";
fate(duplicate) -> "  DUPLICATED";
fate({corrupt, _}) -> "  CORRUPTED";
fate(arrive) -> "  arrives later".

decision(drop) -> "omission";
decision({corrupt, How}) -> ["corrupt ", term(How)];
decision(Decision) -> atom_to_binary(Decision).

occurrence({_, _, _, 1}) -> "";
occurrence({_, _, _, Occurrence}) -> [$\s, integer_to_binary(Occurrence)].

answer(false) -> "TIMEOUT";
answer({_, {error, timeout}}) -> "TIMEOUT";
answer({_, {error, Reason}}) -> ["FAIL, ", term(Reason)];
answer({_, {ok, Value}}) -> ["OK, ", term(Value)];
answer({_, ok}) -> "OK";
answer({_, Answer}) -> term(Answer).
