%%% @doc The check of the rules of {@link partisan_fault}.
-module(partisan_fault_check).

-export([rules/1]).

-define(SELECTORS, [from, to, channel, message, occurrence, share, seed]).
-define(ACTIONS,
    "drop, {delay, Ms}, {ingress_delay, Ms}, {reorder, Ms}, duplicate, {corrupt, bit_flip}, "
    "{corrupt, {replace, Term}}, {partition, Groups} or crash"
).
-define(NAMES, "the name of a node, which is a binary, or a list of names").
-define(ATOMS, "an atom, or a list of atoms").
-define(MS, "milliseconds from 0 on").

%% @doc Whether these are rules; otherwise the description names the rule, its field and the fix.
-spec rules(term()) -> ok | {error, Description :: string()}.
rules(Rules) ->
    try
        is_proper(Rules) orelse invalid("the rules are ~0tP; give a list of maps", [Rules, 9]),
        ok = lists:foreach(fun rule/1, Rules),
        unique([Name || #{name := Name} <- Rules])
    catch
        throw:{invalid, Description} -> {error, Description}
    end.

%% Internals.

rule(#{name := Name, action := Action} = Rule) when is_binary(Name), Name =/= <<>> ->
    ok = keys(Name, "", Rule, [name, match, action, since, until]),
    ok = action(Name, Action),
    ok = match(Name, Action, maps:get(match, Rule, #{})),
    ok = field(Name, "since", fun is_ms/1, ?MS, at(since, Rule)),
    IsLater = fun(Until) -> is_ms(Until) andalso Until > maps:get(since, Rule, 0) end,
    field(Name, "until", IsLater, "milliseconds, later than `since`", at(until, Rule));
rule(#{name := Name}) when is_binary(Name), Name =/= <<>> ->
    invalid("rule ~ts: `action` is missing; give ~ts", [Name, ?ACTIONS]);
rule(Rule) ->
    invalid("the rule ~0tP has no name; give a map with `name`, a binary", [Rule, 12]).

unique(Names) ->
    case Names -- lists:usort(Names) of
        [] -> ok;
        [Name | _] -> invalid("rule ~ts: `name` is that of another rule, too; rename one", [Name])
    end.

action(_Name, Action) when Action =:= drop; Action =:= duplicate; Action =:= crash -> ok;
action(_Name, {corrupt, bit_flip}) -> ok;
action(_Name, {corrupt, {replace, _}}) -> ok;
action(_Name, Fun) when is_function(Fun, 1) -> ok;
action(Name, {delay, Ms}) -> value(Name, "action.delay", fun is_ms/1, ?MS, Ms);
action(Name, {ingress_delay, Ms}) -> value(Name, "action.ingress_delay", fun is_ms/1, ?MS, Ms);
action(Name, {reorder, Ms}) -> value(Name, "action.reorder", fun is_ms/1, ?MS, Ms);
action(Name, {partition, Groups}) ->
    Wanted = "a list of groups, each a list of names of nodes",
    ok = value(Name, "action.partition", fun are_groups/1, Wanted, Groups),
    Nodes = lists:append(Groups),
    case Nodes -- lists:usort(Nodes) of
        [] ->
            ok;
        [Node | _] ->
            invalid("rule ~ts: `action.partition` has ~ts twice; name a node in one group", [
                Name, Node
            ])
    end;
action(Name, Action) ->
    value(Name, "action", fun(_) -> false end, ?ACTIONS, Action).

match(Name, _Action, Match) when not is_map(Match) ->
    value(Name, "match", fun is_map/1, "a map", Match);
match(Name, {partition, _}, Match) when map_size(Match) > 0 ->
    invalid("rule ~ts: `match` selects messages, and a partition stops all; remove it", [Name]);
match(Name, crash, Match) ->
    ok = keys(Name, "match.", Match, [node, event]),
    ok = field(Name, "match.node", one_or_more(fun is_name/1), ?NAMES, at(node, Match)),
    field(Name, "match.event", fun is_positive/1, "an integer from 1 on", at(event, Match));
match(Name, _Action, Match) ->
    ok = keys(Name, "match.", Match, ?SELECTORS),
    ok = field(Name, "match.from", one_or_more(fun is_name/1), ?NAMES, at(from, Match)),
    ok = field(Name, "match.to", one_or_more(fun is_name/1), ?NAMES, at(to, Match)),
    ok = field(Name, "match.channel", one_or_more(fun is_atom/1), ?ATOMS, at(channel, Match)),
    ok = field(Name, "match.message", one_or_more(fun is_atom/1), ?ATOMS, at(message, Match)),
    Numbers = "an integer from 1 on, or a list of them",
    AreNumbers = one_or_more(fun is_positive/1),
    ok = field(Name, "match.occurrence", AreNumbers, Numbers, at(occurrence, Match)),
    ok = field(Name, "match.share", fun is_share/1, "a number from 0 to 1", at(share, Match)),
    field(Name, "match.seed", fun is_integer/1, "an integer", at(seed, Match)).

keys(Name, Where, Map, Known) ->
    case lists:sort(maps:keys(maps:without(Known, Map))) of
        [] ->
            ok;
        [Unknown | _] ->
            invalid("rule ~ts: `~ts~0tp` is unknown here; there are ~ts", [
                Name, Where, Unknown, lists:join(", ", [atom_to_list(Key) || Key <- Known])
            ])
    end.

at(Field, Map) ->
    case Map of
        #{Field := Value} -> {ok, Value};
        #{} -> absent
    end.

field(_Name, _Field, _IsValid, _Wanted, absent) -> ok;
field(Name, Field, IsValid, Wanted, {ok, Value}) -> value(Name, Field, IsValid, Wanted, Value).

value(Name, Field, IsValid, Wanted, Value) ->
    case IsValid(Value) of
        true -> ok;
        false -> invalid("rule ~ts: `~ts` is ~0tP; give ~ts", [Name, Field, Value, 9, Wanted])
    end.

one_or_more(IsValid) ->
    fun(Value) -> IsValid(Value) orelse are(IsValid, Value) end.

are(IsValid, Values) ->
    is_proper(Values) andalso Values =/= [] andalso lists:all(IsValid, Values).

are_groups(Groups) ->
    are(fun(Group) -> are(fun is_name/1, Group) end, Groups).

is_proper([]) -> true;
is_proper([_ | Tail]) -> is_proper(Tail);
is_proper(_) -> false.

is_name(Name) -> is_binary(Name) andalso Name =/= <<>>.
is_ms(Ms) -> is_integer(Ms) andalso Ms >= 0.
is_positive(N) -> is_integer(N) andalso N > 0.
is_share(Share) -> is_number(Share) andalso Share >= 0 andalso Share =< 1.

-spec invalid(string(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, lists:flatten(io_lib:format(Format, Arguments))}).
