%%% Rules of faults: their check, and the decisions about messages, as values.
-module(partisan_fault_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(M, partisan_fault).
-define(NODES, [<<"n1">>, <<"n2">>, <<"n3">>, <<"n4">>]).

%% Each action.

actions_test_() ->
    [
        ?_assertEqual(Decision, decide_one(Action, {commit, 1}))
     || {Action, Decision} <- [
            {drop, drop},
            {{delay, 20}, {delay, 20}},
            {{ingress_delay, 20}, {delay, 20}},
            {duplicate, duplicate},
            {{corrupt, bit_flip}, {replace, {commit, -1}}},
            {{corrupt, {replace, other}}, {replace, other}},
            {{partition, [[<<"n1">>], [<<"n2">>]]}, drop},
            {{partition, [[<<"n1">>, <<"n2">>]]}, pass},
            {{partition, [[<<"n2">>]]}, drop},
            {crash, pass},
            {fun({message, 0, _, _, _, {commit, N}}) -> {delay, N} end, {delay, 1}}
        ]
    ].

decide_one(Action, Msg) ->
    {Decision, _} = ?M:decide(compile([rule(Action, #{})]), message(Msg), #{}),
    Decision.

%% Of the messages of one delay none overtakes another; of one reordering many do.
reorder_test() ->
    Delays = [Ms || {delay, Ms} <- decisions([rule({reorder, 50}, #{})], 200)],
    ?assertEqual(200, length(Delays)),
    ?assert(lists:all(fun(Ms) -> Ms >= 0 andalso Ms =< 50 end, Delays)),
    ?assertNotEqual(lists:sort(Delays), Delays).

%% Selection.

fields_test_() ->
    Msg = {message, 5, <<"n1">>, <<"n2">>, bulk, {commit, 1}},
    [
        {lists:flatten(io_lib:format("~0p", [Match])),
            ?_assertEqual(Decision, first([rule(drop, Match)], Msg))}
     || {Decision, Match} <- [
            {drop, #{}},
            {drop, #{from => <<"n1">>}},
            {pass, #{from => <<"n2">>}},
            {drop, #{to => [<<"n2">>, <<"n3">>]}},
            {pass, #{to => [<<"n1">>, <<"n3">>]}},
            {drop, #{channel => bulk}},
            {pass, #{channel => [gossip, default]}},
            {drop, #{message => commit}},
            {pass, #{message => prepare}},
            {drop, #{occurrence => 1}},
            {pass, #{occurrence => [2, 3]}},
            {drop, #{share => 1}},
            {drop, #{share => 1.0}},
            {pass, #{share => 0}},
            {drop, #{from => <<"n1">>, message => [abort, commit], channel => bulk}},
            {pass, #{from => <<"n1">>, message => [abort, commit], channel => acks}}
        ]
    ].

time_test_() ->
    Rule = (rule(drop, #{}))#{since => 10, until => 20},
    [
        ?_assertEqual(Decision, first([Rule], {message, Now, <<"n1">>, <<"n2">>, default, m}))
     || {Decision, Now} <- [{pass, 9}, {drop, 10}, {drop, 19}, {pass, 20}]
    ].

occurrences_test() ->
    ?assertEqual(
        [pass, drop, pass, drop], decisions([rule(drop, #{occurrence => [2, 4]})], 4)
    ).

%% Whatever the channel and the time: an occurrence is a property of the message, not of the rule.
occurrences_are_counted_before_they_match_test() ->
    Faults = compile([(rule(drop, #{channel => bulk, occurrence => 3}))#{since => 5}]),
    Sent = [{0, bulk}, {1, acks}, {5, bulk}],
    Events = [{message, N, <<"n1">>, <<"n2">>, C, m} || {N, C} <- Sent],
    ?assertEqual([pass, pass, drop], run(Faults, Events)).

first_rule_decides_test() ->
    Rules = [
        #{name => <<"a">>, action => {delay, 1}, match => #{occurrence => 1}},
        #{name => <<"b">>, action => drop}
    ],
    ?assertEqual([{delay, 1}, drop], decisions(Rules, 2)).

crash_test() ->
    Faults = compile([rule(crash, #{node => <<"n1">>, event => 3})]),
    Steps = [{step, 0, <<"n", I>>} || I <- "112221"],
    ?assertEqual([pass, pass, pass, pass, pass, crash], run(Faults, Steps)),
    Late = compile([(rule(crash, #{node => <<"n1">>}))#{since => 10}]),
    ?assertEqual(
        [pass, crash], run(Late, [{step, 9, <<"n1">>}, {step, 10, <<"n1">>}])
    ).

%% A tenth of many messages, each drawn by itself; another seed or name draws others.
share_test() ->
    Drawn = fun(Name, Seed) ->
        Rule = #{name => Name, action => drop, match => #{share => 0.1, seed => Seed}},
        decisions([Rule], 10000)
    end,
    Share = length([drop || drop <- Drawn(<<"a">>, 1)]),
    ?assert(Share > 900 andalso Share < 1100),
    ?assertEqual(Drawn(<<"a">>, 1), Drawn(<<"a">>, 1)),
    ?assertNotEqual(Drawn(<<"a">>, 1), Drawn(<<"a">>, 2)),
    ?assertNotEqual(Drawn(<<"a">>, 1), Drawn(<<"b">>, 1)).

%% Properties.

properties_test_() ->
    [
        {Title, {timeout, 600,
            ?_assert(
                proper:quickcheck(Property, [{to_file, user}, {numtests, 300}])
            )}}
     || {Title, Property} <- [
            {"a message's decision depends on its key and occurrence alone", prop_independent()},
            {"an interpreter with counts of its own decides alike", prop_own_counts()},
            {"a partition is symmetric and stops exactly what crosses it", prop_partition()},
            {"a bit flip changes one value and keeps the type", prop_bit_flip()},
            {"any term is checked", prop_check()},
            {"generated rules are valid", prop_valid()}
        ]
    ].

%% However the messages of other keys are interleaved.
prop_independent() ->
    ?FORALL({Rules, Events}, {rules(), list(event())}, begin
        Faults = compile(Rules),
        Decided = lists:zip(Events, run(Faults, Events)),
        lists:all(
            fun(Key) ->
                Own = [Event || Event <- Events, ?M:key(Event) =:= Key],
                [D || {Event, D} <- Decided, ?M:key(Event) =:= Key] =:= run(Faults, Own)
            end,
            lists:usort([?M:key(Event) || Event <- Events])
        )
    end).

prop_own_counts() ->
    ?FORALL({Rules, Events}, {rules(), list(event())}, begin
        Faults = compile(Rules),
        % All are counted, also those that concern no rule.
        {Decisions, _} = lists:mapfoldl(
            fun(Event, Counts) ->
                Key = ?M:key(Event),
                N = maps:get(Key, Counts, 0) + 1,
                {chosen(?M:select(Faults, Event), Event, N), Counts#{Key => N}}
            end,
            #{},
            Events
        ),
        Decisions =:= run(Faults, Events)
    end).

chosen(none, _Event, _N) ->
    pass;
chosen(Selected, Event, N) ->
    case ?M:choose(Selected, Event, N) of
        pass -> pass;
        {_Name, Decision} -> Decision
    end.

prop_partition() ->
    ?FORALL({Groups, A, B}, {groups(), name(), name()}, begin
        Faults = compile([rule({partition, Groups}, #{})]),
        Apart = is_apart(A, B, Faults),
        {Decision, _} = ?M:decide(Faults, {message, 0, A, B, default, m}, #{}),
        Apart =:= is_apart(B, A, Faults) andalso
            Apart =:= (Decision =:= drop) andalso
            not is_apart(A, A, Faults) andalso
            Apart =:= (group(A, Groups) =/= group(B, Groups))
    end).

is_apart(A, B, Faults) ->
    ?M:partition(A, B, 0, Faults) =/= none.

group(Node, Groups) ->
    [Group || Group <- Groups, lists:member(Node, Group)].

prop_bit_flip() ->
    Writes = [{write, x, integer()}, {binary(), #{key => {atom(), binary()}}}],
    ?FORALL(Msg, oneof([any() | Writes]), begin
        Flipped = partisan_fault_corruption:corrupt(bit_flip, Msg),
        HasValue = has_value(Msg),
        partisan_process:type(Flipped) =:= partisan_process:type(Msg) andalso
            HasValue =:= (Flipped =/= Msg)
    end).

has_value(Term) when is_integer(Term) -> true;
has_value(Term) when is_bitstring(Term) -> bit_size(Term) > 0;
has_value(Term) when is_tuple(Term) -> lists:any(fun has_value/1, tuple_to_list(Term));
has_value(Term) when is_map(Term) -> lists:any(fun has_value/1, maps:values(Term));
has_value([Head | Tail]) -> has_value(Head) orelse has_value(Tail);
has_value(_) -> false.

prop_check() ->
    ?FORALL(Terms, oneof([any(), list(loose_rule())]), begin
        case ?M:check(Terms) of
            ok -> is_list(Terms);
            {error, Description} -> is_binary(unicode:characters_to_binary(Description))
        end
    end).

prop_valid() ->
    ?FORALL(Rules, rules(), ok =:= ?M:check(Rules)).

%% The value that the slides' third counterexample reads.
sign_of_the_last_integer_test_() ->
    [
        ?_assertEqual(Flipped, partisan_fault_corruption:corrupt(bit_flip, Msg))
     || {Msg, Flipped} <- [
            {{read, <<"x">>, 1}, {read, <<"x">>, -1}},
            {{read, 1, <<"x">>}, {read, -1, <<"x">>}},
            {{read, <<1>>, x}, {read, <<0>>, x}},
            {{vote, [{1, yes}, {0, no}]}, {vote, [{1, yes}, {1, no}]}},
            {#{b => 1, a => 2}, #{b => -1, a => 2}},
            {commit, commit}
        ]
    ].

%% Errors name the rule, the field and the fix.

check_test_() ->
    Named = fun(Fields) -> [maps:merge(#{name => <<"r">>, action => drop}, Fields)] end,
    [
        {Expected, fun() ->
            {error, Description} = ?M:check(Rules),
            ?assertEqual(Expected, Description),
            ?assertError({invalid_rules, Description}, ?M:compile(Rules))
        end}
     || {Rules, Expected} <- [
            {nothing, "the rules are nothing; give a list of maps"},
            {[rule], "the rule rule has no name; give a map with `name`, a binary"},
            {[#{action => drop}],
                "the rule #{action => drop} has no name; give a map with `name`, a binary"},
            {Named(#{from => <<"n1">>}),
                "rule r: `from` is unknown here; there are name, match, action, since, until"},
            {Named(#{match => #{sender => <<"n1">>}}),
                "rule r: `match.sender` is unknown here; there are "
                "from, to, channel, message, occurrence, share, seed"},
            {Named(#{match => #{from => n1}}),
                "rule r: `match.from` is n1; give the name of a node, which is a binary, "
                "or a list of names"},
            {Named(#{match => #{to => []}}),
                "rule r: `match.to` is []; give the name of a node, which is a binary, "
                "or a list of names"},
            {Named(#{match => #{message => <<"m">>}}),
                "rule r: `match.message` is <<\"m\">>; give an atom, or a list of atoms"},
            {Named(#{match => #{occurrence => 0}}),
                "rule r: `match.occurrence` is 0; give an integer from 1 on, or a list of them"},
            {Named(#{match => #{share => 1.5}}),
                "rule r: `match.share` is 1.5; give a number from 0 to 1"},
            {Named(#{since => -1}), "rule r: `since` is -1; give milliseconds from 0 on"},
            {Named(#{since => 5, until => 5}),
                "rule r: `until` is 5; give milliseconds, later than `since`"},
            {Named(#{action => {delay, soon}}),
                "rule r: `action.delay` is soon; give milliseconds from 0 on"},
            {Named(#{action => {partition, [[]]}}),
                "rule r: `action.partition` is [[]]; give a list of groups, each a list of names "
                "of nodes"},
            {Named(#{action => {partition, [[<<"a">>, <<"b">>], [<<"a">>]]}}),
                "rule r: `action.partition` has a twice; name a node in one group"},
            {Named(#{action => {partition, [[<<"a">>]]}, match => #{to => <<"b">>}}),
                "rule r: `match` selects messages, and a partition stops all; remove it"},
            {Named(#{action => crash, match => #{to => <<"b">>}}),
                "rule r: `match.to` is unknown here; there are node, event"},
            {[#{name => <<"r">>, action => drop}, #{name => <<"r">>, action => drop}],
                "rule r: `name` is that of another rule, too; rename one"}
        ]
    ] ++
        [
            ?_assertMatch({error, "rule r: `action` is explode; give drop, " ++ _},
                ?M:check(Named(#{action => explode}))),
            ?_assertMatch({error, "rule r: `action` is missing; give drop, " ++ _},
                ?M:check([#{name => <<"r">>}])),
            ?_assertEqual(ok, ?M:check([]))
        ].

%% Internals.

rule(Action, Match) -> #{name => <<"r">>, action => Action, match => Match}.

compile(Rules) -> ?M:compile(Rules).

message(Msg) -> {message, 0, <<"n1">>, <<"n2">>, default, Msg}.

first(Rules, Event) -> hd(run(compile(Rules), [Event])).

%% About so many messages of one key.
decisions(Rules, Count) -> run(compile(Rules), lists:duplicate(Count, message(m))).

run(Faults, Events) ->
    Decide = fun(Event, Counts) -> ?M:decide(Faults, Event, Counts) end,
    {Decisions, _} = lists:mapfoldl(Decide, #{}, Events),
    Decisions.

%% Generators.

name() -> oneof(?NODES).

event() ->
    frequency([
        {5, {message, range(0, 20), name(), name(), oneof([bulk, default]), {oneof([a, b]), 1}}},
        {1, {step, range(0, 20), name()}}
    ]).

rules() ->
    ?LET(Bare, resize(6, list(bare_rule())), [
        Rule#{name => integer_to_binary(N)}
     || {N, Rule} <- lists:zip(lists:seq(1, length(Bare)), Bare)
    ]).

bare_rule() ->
    oneof([
        ?LET(
            {Action, Match},
            {
                oneof([drop, duplicate, {delay, nat()}, {reorder, nat()}, {corrupt, bit_flip}]),
                match()
            },
            #{action => Action, match => Match}
        ),
        ?LET(Groups, groups(), #{action => {partition, Groups}}),
        ?LET({Node, N}, {name(), range(1, 3)}, #{
            action => crash, match => #{node => Node, event => N}
        }),
        ?LET({Since, For}, {range(0, 10), range(1, 10)}, #{
            action => drop, since => Since, until => Since + For
        })
    ]).

match() ->
    ?LET(
        Fields,
        list(
            oneof([
                {from, name()},
                {to, [name() | [name()]]},
                {channel, bulk},
                {message, a},
                {occurrence, range(1, 3)},
                {share, 0.5},
                {seed, nat()}
            ])
        ),
        maps:from_list(Fields)
    ).

groups() ->
    oneof([
        [[<<"n1">>], [<<"n2">>]],
        [[<<"n1">>, <<"n2">>], [<<"n3">>, <<"n4">>]],
        [[<<"n3">>]],
        [[<<"n1">>], [<<"n2">>], [<<"n3">>], [<<"n4">>]]
    ]).

loose_rule() ->
    ?LET(
        Fields,
        list({oneof([name, action, match, since, until, other]), oneof([<<"r">>, drop, any()])}),
        maps:from_list(Fields)
    ).
