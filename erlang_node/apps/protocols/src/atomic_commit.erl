%%% @doc Scenario, property and symmetric roles of the commit protocols.
%%%
%%% Each broadcasts a value in a transaction: the call `{broadcast, Value}' at any node, which
%%% coordinates, is answered by `{ok, Id}' or `{error, Id}', and a node that commits delivers
%%% `{Id, Value}'.
-module(atomic_commit).

-export([scenario/1]).
-export([verdict/1]).
-export([symmetry/1]).

%% @doc One broadcast at the first member.
-spec scenario([partisan_process:name()]) ->
    [{non_neg_integer(), partisan_process:name(), partisan_process:event()}].
scenario([First | _]) ->
    [{0, First, {call, broadcast, {broadcast, <<"value">>}}}].

%% @doc Atomicity: after `ok' every node that is up has the value, after `error' no node has it.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(#{replies := Replies} = Outcome) ->
    verdicts([Answer || {_Name, _Ref, Answer} <- Replies], Outcome).

%% @doc All members; those of a scenario keep their names.
-spec symmetry([partisan_process:name()]) -> [[partisan_process:name()]].
symmetry(Members) ->
    [Members].

%% Internals.

verdicts([], _Outcome) ->
    ok;
verdicts([{Answer, Id} | Rest], #{up := Up, delivered := Delivered} = Outcome) ->
    Having = [
        Name
     || {Name, Values} <- lists:sort(maps:to_list(Delivered)), lists:keymember(Id, 1, Values)
    ],
    case {Answer, Up -- Having, Having} of
        {ok, [_ | _] = Without, _} -> {violated, ["committed, but not at ", names(Without)]};
        {error, _, [_ | _]} -> {violated, ["aborted, but committed at ", names(Having)]};
        _ -> verdicts(Rest, Outcome)
    end.

names(Names) ->
    lists:join(" ", Names).
