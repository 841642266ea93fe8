%%% @doc The ad counter's state in a backup ({@link workload_backup}): the count of each ad by each
%%% actor.
%%%
%%% ```
%%% ads-0/1795286121555265/0 20                 node, incarnation, ad
%%% '''
%%%
%%% Neither the start nor the barrier is part of it: a restored cluster starts when it is connected,
%%% and its nodes report themselves. They are new actors, so that no count is ever counted again.
-module(adcounter_backup).

-export([to_entries/1]).
-export([from_entries/2]).
-export([of_options/1]).
-export([after_restored/1]).
-export([unless_older/2]).
-export([state/2]).

-type count() :: {adcounter_state:ad(), adcounter_state:actor(), pos_integer()}.

-export_type([count/0]).

-define(MAX_INCARNATION, 16#7FFFFFFFFFFFFFFF).

%% @doc The entries of a state.
-spec to_entries([count()]) -> workload_backup:entries().
to_entries(Counts) ->
    maps:from_list([{key(Ad, Actor), Count} || {Ad, Actor, Count} <- Counts, Count > 0]).

%% @doc The counts in the entries of a run with so many ads.
-spec from_entries(Ads :: pos_integer(), workload_backup:entries()) ->
    {ok, [count()]} | {error, iodata()}.
from_entries(Ads, Entries) ->
    try
        {ok, [count(Ads, Key, Count) || {Key, Count} <- maps:to_list(Entries)]}
    catch
        throw:{foreign, Key} ->
            {error, ["has an entry that is not of an ad counter with ", integer_to_list(Ads),
                " ads: ", Key]}
    end.

%% @doc The counts in the backup that the options have, if any.
-spec of_options(workload:options()) -> [count()].
of_options(#{restored := Backup, parameters := #{ads := Ads}}) ->
    {ok, Counts} = from_entries(Ads, workload_backup:entries(Backup)),
    Counts;
of_options(_Options) ->
    [].

%% @doc The options with an incarnation after those in their backup, whatever the clock says.
-spec after_restored(workload:options()) -> workload:options().
after_restored(#{name := Name, incarnation := Incarnation} = Options) ->
    Last = maps:get(Name, incarnations(of_options(Options)), 0),
    Options#{incarnation := max(Incarnation, Last + 1)}.

%% @doc The record of a node's own counts, unless the backup has more of its actor: it would count
%% again what the backup has. Only a volume that is itself restored brings back such a record.
-spec unless_older(none | adcounter_core:kept(), [count()]) -> none | adcounter_core:kept().
unless_older(#{name := Name, incarnation := Incarnation, counts := Own} = Record, Counts) ->
    Actor = {Name, Incarnation},
    case [Ad || {Ad, Counted, N} <- Counts, Counted =:= Actor, N > maps:get(Ad, Own, 0)] of
        [] -> Record;
        _ -> none
    end;
unless_older(none, _Counts) ->
    none.

%% @doc The state to join to a replica. Of nodes that are no members every incarnation has ended,
%% and no later one will report it.
-spec state([count()], Members :: [partisan_peer:name()]) -> adcounter_state:t().
state(Counts, Members) ->
    Absent = maps:without(Members, incarnations(Counts)),
    lists:foldl(
        fun adcounter_state:merge/2,
        adcounter_state:new(),
        [adcounter_state:counted(Ad, Actor, N) || {Ad, Actor, N} <- Counts] ++
            [adcounter_state:report(Name, I + 1, false, 0) || {Name, I} <- maps:to_list(Absent)]
    ).

%% Internals.

key(Ad, Actor) ->
    <<(adcounter_state:text(Actor))/binary, $/, (integer_to_binary(Ad))/binary>>.

%% Copied, since the name would hold on to the whole file.
count(Ads, Key, Count) ->
    case binary:split(Key, <<"/">>, [global]) of
        [Name, Incarnation, Ad] when Name =/= <<>> ->
            Actor = {binary:copy(Name), number(Incarnation, ?MAX_INCARNATION, Key)},
            {number(Ad, Ads - 1, Key), Actor, Count};
        _ ->
            throw({foreign, Key})
    end.

number(Digits, Max, Key) ->
    try binary_to_integer(Digits) of
        % One form for each number, or two keys could be of one actor.
        Number when Number >= 0, Number =< Max ->
            integer_to_binary(Number) =:= Digits orelse throw({foreign, Key}),
            Number;
        _ ->
            throw({foreign, Key})
    catch
        error:badarg -> throw({foreign, Key})
    end.

incarnations(Counts) ->
    lists:foldl(
        fun({_Ad, {Name, Incarnation}, _Count}, Last) ->
            maps:update_with(Name, fun(Other) -> max(Other, Incarnation) end, Incarnation, Last)
        end,
        #{},
        Counts
    ).
