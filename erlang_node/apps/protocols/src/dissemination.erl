%%% @doc Scenario and properties of the protocols that spread an update.
%%%
%%% The call `{broadcast, Value}' at any node is answered when that node has done its part; each
%%% node that has the update delivers its value.
-module(dissemination).

-export([scenario/1]).
-export([complete/1]).
-export([unique/1]).

%% @doc One broadcast at the first member.
-spec scenario([partisan_process:name()]) ->
    [{non_neg_integer(), partisan_process:name(), partisan_process:event()}].
scenario([First | _]) ->
    [{0, First, {call, broadcast, {broadcast, <<"value">>}}}].

%% @doc After `ok' every node that is up has delivered the value, after
%% `{error, {unacknowledged, Names}}' all but these; none has delivered it twice.
-spec complete(partisan_process:outcome()) -> ok | {violated, iodata()}.
complete(#{replies := Replies, up := Up, delivered := Delivered} = Outcome) ->
    Excused = [excused(Answer, Up) || {_Name, _Ref, Answer} <- Replies],
    Without = [
        Name
     || Names <- Excused, Name <- Up -- Names, maps:get(Name, Delivered) =:= []
    ],
    case Without of
        [] -> unique(Outcome);
        [_ | _] -> {violated, ["not delivered at ", lists:join(" ", Without)]}
    end.

%% @doc No node delivers a value twice.
-spec unique(partisan_process:outcome()) -> ok | {violated, iodata()}.
unique(#{delivered := Delivered}) ->
    case [Name || {Name, [_, _ | _]} <- lists:sort(maps:to_list(Delivered))] of
        [] -> ok;
        Twice -> {violated, ["delivered twice at ", lists:join(" ", Twice)]}
    end.

%% Internals.

excused(ok, _Up) -> [];
excused({error, {unacknowledged, Names}}, _Up) -> Names.
