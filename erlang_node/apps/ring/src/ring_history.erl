%%% @doc Judges a history of requests to the key-value store.
%%%
%%% It checks, in the order of time and in polynomial time, since dots give the causal order:
%%% <ul>
%%% <li>`lost': an acknowledged write is covered by every quorum read that begins later, and by the
%%%     final state.</li>
%%% <li>`returned': a value that an acknowledged write has replaced is not read again.</li>
%%% <li>`regressed': what a session reads covers what it has read and written before.</li>
%%% <li>`dot_reused': a dot is of one write.</li>
%%% <li>`executed_twice': a write has one dot. Values identify writes: each must be written
%%% once.</li>
%%% <li>`invented': every value was written.</li>
%%% </ul>
%%% A tombstone that all replicas have dropped is covered by nothing; a history says so (`dropped').
%%%
%%% == Hinted writes ==
%%% A write whose quorum has stand-ins among it ({@link ring_request}) must be covered by the final
%%% state, when all hints have been delivered, and by no read before: it is judged as if it were
%%% acknowledged at the end. A hint that was lost or given up is in the history too (`forgotten'),
%%% and excuses the hinted writes that its set covers. A session need not read again what it has
%%% seen of such a key, except for writes acknowledged without hints.
-module(ring_history).

-export([check/1]).

-type milliseconds() :: integer().
-type key() :: ring_replica:key().
-type entry() :: {ring_dvv:dot(), ring_dvv:value()}.

%% `context': that was given. An outcome is what came back until `ended'; of a failed write nothing
%% is known, and a failed read is left out. `availability': strict, unless it says otherwise.
-type write() :: #{
    session := term(),
    key := key(),
    value := ring_dvv:value() | none,
    context := ring_dvv:context(),
    started := milliseconds(),
    ended := milliseconds() | never,
    outcome := {ok | hinted, ring_dvv:dot(), ring_dvv:context()} | failed,
    availability => strict | sloppy
}.
%% `observed': the clock and values that were read, without what the session knew.
-type read() :: #{
    session := term(),
    key := key(),
    started := milliseconds(),
    ended := milliseconds(),
    observed := ring_dvv:context(),
    values := [entry()]
}.
-type event() ::
    {write, write()}
    | {read, read()}
    | {dropped, key(), ring_dvv:context(), milliseconds()}
    | {forgotten, key(), ring_dvv:context()}
    % At the end, on the replicas that any quorum may consist of.
    | {final, key(), ring_dvv:context(), [entry()]}.

-type kind() :: lost | returned | regressed | dot_reused | executed_twice | invented.
-type violation() :: {kind(), key(), Details :: term()}.

-export_type([event/0, violation/0, kind/0]).

%% @doc The violations of a history, whose events may be in any order; none: it is correct.
-spec check([event()]) -> [violation()].
check(Events) ->
    Keys = by_key(Events),
    lists:append([check_key(Key, maps:get(Key, Keys)) || Key <- lists:sort(maps:keys(Keys))]).

%% Internals.

by_key(Events) ->
    lists:foldr(
        fun(Event, Acc) ->
            Key = key(Event),
            Acc#{Key => [Event | maps:get(Key, Acc, [])]}
        end,
        #{},
        Events
    ).

key({write, #{key := Key}}) -> Key;
key({read, #{key := Key}}) -> Key;
key({dropped, Key, _, _}) -> Key;
key({forgotten, Key, _}) -> Key;
key({final, Key, _, _}) -> Key.

check_key(Key, Events) ->
    Found = in_time(Events) ++ in_sessions(Events) ++ identities(Events),
    [{Kind, Key, Details} || {Kind, Details} <- lists:usort(Found)].

%% What is acknowledged before a read begins must be covered; what is dropped before it ends need
%% not be.
in_time(Events) ->
    Forgotten = [Context || {forgotten, _, Context} <- Events],
    Points = [point(E) || E <- Events, is_step(E) orelse is_final(E) orelse is_kept(E, Forgotten)],
    Dropped = [{At, Context} || {dropped, _, Context, At} <- Events],
    {_, _, Found} = lists:foldl(
        fun({_, _, Point}, Acc) -> judge(Point, Dropped, Acc) end, {[], [], []}, lists:sort(Points)
    ),
    Found.

%% At one moment, reads begin before writes are acknowledged; the end is after all numbers.
point({write, #{outcome := {hinted, _, _}} = Write}) -> {infinity, 1, {acknowledged, Write}};
point({write, #{ended := Ended} = Write}) -> {Ended, 1, {acknowledged, Write}};
point({read, #{started := Started} = Read}) -> {Started, 0, {read, Read}};
point({final, _, _, _} = Final) -> {infinity, 2, Final}.

is_final({final, _, _, _}) -> true;
is_final(_) -> false.

is_kept({write, #{outcome := {hinted, Dot, _}}}, Forgotten) ->
    not lists:any(fun(Context) -> ring_dvv:is_covered(Dot, Context) end, Forgotten);
is_kept(_, _) ->
    false.

judge({acknowledged, #{outcome := {_, Dot, _}, context := Context}}, _, {Dots, Replaced, Found}) ->
    {ring_dvv:join([Dot], Dots), [{Dot, Context} | Replaced], Found};
judge({read, #{ended := Ended, observed := Observed, values := Values} = Read}, Dropped, Acc) ->
    observed(Read, Observed, Values, [C || {At, C} <- Dropped, At =< Ended], Acc);
judge({final, _, Observed, Values}, Dropped, Acc) ->
    observed(final, Observed, Values, [C || {_, C} <- Dropped], Acc).

observed(Read, Observed, Values, Dropped, {Dots, Replaced, Found}) ->
    Covered = lists:foldl(fun ring_dvv:join/2, Observed, Dropped),
    Lost = [{lost, {Dot, Read}} || Dot <- Dots, not ring_dvv:is_covered(Dot, Covered)],
    Returned = [
        {returned, {Old, New, Read}}
     || {Old, _} <- Values,
        {New, Context} <- Replaced,
        Old =/= New,
        ring_dvv:is_covered(Old, Context)
    ],
    {Dots, Replaced, Lost ++ Returned ++ Found}.

in_sessions(Events) ->
    Dropped = [{At, Context} || {dropped, _, Context, At} <- Events],
    Steps = lists:sort([step(E) || E <- Events, is_step(E)]),
    Firm =
        case [sloppy || {write, #{availability := sloppy}} <- Events] of
            [] -> all;
            _ -> [Dot || {write, #{outcome := {ok, Dot, _}}} <- Events]
        end,
    Sessions = lists:usort([Session || {Session, _, _, _} <- Steps]),
    lists:append([
        regressions([S || {Of, _, _, _} = S <- Steps, Of =:= Session], [], Firm, Dropped)
     || Session <- Sessions
    ]).

is_step({write, #{outcome := {ok, _, _}}}) -> true;
is_step({read, _}) -> true;
is_step(_) -> false.

step({write, #{session := Session, started := Started, outcome := {ok, Dot, _}}}) ->
    {Session, Started, written, Dot};
step({read, #{session := Session, started := Started} = Read}) ->
    {Session, Started, read, Read}.

regressions([{_, _, written, Dot} | Steps], Context, Firm, Dropped) ->
    regressions(Steps, ring_dvv:join([Dot], Context), Firm, Dropped);
regressions([{_, _, read, Read} | Steps], Context, Firm, Dropped) ->
    #{observed := Observed, ended := Ended} = Read,
    Covered = lists:foldl(
        fun ring_dvv:join/2, Observed, [C || {At, C} <- Dropped, At =< Ended]
    ),
    Found = [{regressed, {Context, Read}} || not ring_dvv:covers(Covered, Context)],
    Found ++ regressions(Steps, ring_dvv:join(Context, firm(Observed, Firm)), Firm, Dropped);
regressions([], _Context, _Firm, _Dropped) ->
    [].

%% Of what has been read, that which must be read again.
firm(Observed, all) ->
    Observed;
firm(Observed, Firm) ->
    lists:foldl(
        fun ring_dvv:join/2, [], [[Dot] || Dot <- Firm, ring_dvv:is_covered(Dot, Observed)]
    ).

identities(Events) ->
    Written = [Value || {write, #{value := Value}} <- Events, Value =/= none],
    Entries = lists:usort(lists:append([entries(E) || E <- Events])),
    Dots = [Dot || {Dot, _} <- Entries],
    Values = [Value || {_, Value} <- Entries, Value =/= none],
    [{dot_reused, Dot} || Dot <- lists:usort(Dots -- lists:usort(Dots))] ++
        [{executed_twice, Value} || Value <- lists:usort(Values -- lists:usort(Values))] ++
        [{invented, Value} || Value <- lists:usort(Values), not lists:member(Value, Written)].

entries({write, #{outcome := {_, Dot, _}, value := Value}}) -> [{Dot, Value}];
entries({read, #{values := Values}}) -> Values;
entries({final, _, _, Values}) -> Values;
entries(_) -> [].
