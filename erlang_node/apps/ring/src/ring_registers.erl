%%% @doc The part of a history that an independent judge of linearizability can read: operations on
%%% registers, one register for each key with one writer.
%%%
%%% `atomic' reads of such a key are linearizable until its writer goes on after a write whose
%%% outcome is unknown: that write may still take effect, next to the one after it. So the history
%%% of a key is cut there. What is under way then, has no answer.
%%%
%%% The judge is `scale_tests/measure/judge', an operation is a line of JSON.
-module(ring_registers).

-export([operations/1]).
-export([write/2]).

%% Keys, clients and values are numbered. 0 is the value of a key that was never written or is
%% deleted, -1 stands for several values at once, which no register has.
-type operation() :: #{
    key := pos_integer(),
    client := pos_integer(),
    kind := read | write,
    value := integer(),
    call := integer(),
    return := integer() | null
}.

-export_type([operation/0]).

%% @doc The operations on the keys that have at most one writer.
-spec operations([ring_history:event()]) -> [operation()].
operations(Events) ->
    Steps = [Step || {Kind, Step} <- Events, Kind =:= read orelse Kind =:= write],
    Sessions = numbered([Session || #{session := Session} <- Steps]),
    Values = (numbered([Value || #{value := Value} <- Steps]))#{none => 0},
    Keys = numbered([Key || #{key := Key} <- Steps]),
    [
        Operation#{key => Number, client => maps:get(Session, Sessions)}
     || {Key, Number} <- lists:sort(maps:to_list(Keys)),
        OfKey <- [[Step || #{key := K} = Step <- Steps, K =:= Key]],
        has_one_writer(OfKey),
        Until <- [trusted_until(OfKey)],
        #{session := Session, started := Started} = Step <- OfKey,
        Started < Until,
        Operation <- operation(Step, Until, Values)
    ].

%% @doc Writes the operations of a history to a file.
-spec write(file:name_all(), [ring_history:event()]) -> ok | {error, file:posix()}.
write(File, Events) ->
    file:write_file(File, [line(Operation) || Operation <- operations(Events)]).

%% Internals.

numbered(Terms) ->
    Distinct = lists:usort(Terms),
    maps:from_list(lists:zip(Distinct, lists:seq(1, length(Distinct)))).

has_one_writer(Steps) ->
    length(lists:usort([Session || #{session := Session, value := _} <- Steps])) =< 1.

%% When the writer goes on after a write without an answer; an atom is after all numbers.
trusted_until(Steps) ->
    Writes = lists:sort([{Started, Outcome} || #{started := Started, outcome := Outcome} <- Steps]),
    case lists:dropwhile(fun({_, Outcome}) -> Outcome =/= failed end, Writes) of
        [_, {Started, _} | _] -> Started;
        _ -> infinity
    end.

operation(#{value := Value, started := Started, ended := Ended} = Write, Until, Values) ->
    #{outcome := Outcome} = Write,
    Return =
        case Outcome =:= failed orelse Ended >= Until of
            true -> null;
            false -> Ended
        end,
    [#{kind => write, value => maps:get(Value, Values), call => Started, return => Return}];
operation(#{ended := Ended}, Until, _Values) when Ended >= Until ->
    [];
operation(#{values := Found, started := Started, ended := Ended}, _Until, Values) ->
    [#{kind => read, value => read_value(Found, Values), call => Started, return => Ended}].

%% A value that was never written has no number.
read_value([], _Values) -> 0;
read_value([{_, Value}], Values) -> maps:get(Value, Values, -1);
read_value([_, _ | _], _Values) -> -1.

line(#{key := Key, client := Client, kind := Kind, value := Value} = Operation) ->
    #{call := Call, return := Return} = Operation,
    io_lib:format(
        "{\"key\": ~b, \"client\": ~b, \"kind\": \"~s\", \"value\": ~b, \"call\": ~b, "
        "\"return\": ~p}~n",
        [Key, Client, Kind, Value, Call, Return]
    ).
