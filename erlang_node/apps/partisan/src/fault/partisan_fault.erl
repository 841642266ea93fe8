%%% @doc Injected faults as data: rules, their check, and the decision about one message.
%%%
%%% One language for three interpreters: a live node ({@link partisan_interposition}), the simulator
%%% and the explorer. A rule selects messages and says what becomes of them:
%%%
%%% ```
%%% #{name => <<"lost">>, action => drop,
%%%   match => #{from => <<"n1">>, to => <<"n2">>, message => commit, occurrence => 1}}
%%% #{name => <<"slow">>, action => {delay, 200}, match => #{channel => bulk}, until => 30000}
%%% #{name => <<"noise">>, action => drop, match => #{share => 0.1, seed => 1}}
%%% #{name => <<"split">>, action => {partition, [[<<"n1">>, <<"n2">>], [<<"n3">>]]}}
%%% #{name => <<"dies">>, action => crash, match => #{node => <<"n3">>, event => 5}}
%%% '''
%%%
%%% The first rule that matches decides. Pure and deterministic: a message is identified by its key
%%% `{From, To, Type}' and its occurrence, the number of messages of this key since the rules were
%%% set, and a share is drawn from a hash of both.
%%%
%%% == Matching ==
%%% An absent field matches everything. `message' is {@link partisan_process:type/1}. `since' and
%%% `until' are times of the interpreter's clock, in milliseconds: virtual time, or in a live node
%%% the time since the rules were set. A rule is in force from `since' (0) until before `until'.
%%%
%%% == Actions ==
%%% <ul>
%%% <li>`{delay, Ms}': later by that much; messages of one delay keep their order.
%%%     `{ingress_delay, Ms}': the same, in a live node where they arrive.</li>
%%% <li>`{reorder, Ms}': later by a random time of at most that much, so that others overtake.</li>
%%% <li>`duplicate': twice.</li>
%%% <li>`{corrupt, How}': {@link partisan_fault_corruption}.</li>
%%% <li>`{partition, Groups}': nothing passes between nodes of different groups. The nodes that no
%%%     group names are one more group.</li>
%%% <li>`crash': the node ends before it handles its `event'-th event, or its next one.</li>
%%% <li>A function of the event, which returns the decision. For tests in Erlang; manifests hold
%%%     data.</li>
%%% </ul>
-module(partisan_fault).

-export([check/1]).
-export([compile/1]).
-export([decide/3]).
-export([partition/4]).
-export([is_drawn/2]).
%% For interpreters that keep the counts themselves.
-export([select/2]).
-export([key/1]).
-export([choose/3]).

-type name() :: partisan_process:name().
-type ms() :: non_neg_integer().
-type one_or_more(T) :: T | [T].
-type rule() :: #{
    name := binary(),
    match => match(),
    action := action(),
    since => ms(),
    until => ms()
}.
-type match() ::
    #{
        from => one_or_more(name()),
        to => one_or_more(name()),
        channel => one_or_more(atom()),
        message => one_or_more(atom()),
        % Counted from 1 for each {From, To, Type}.
        occurrence => one_or_more(pos_integer()),
        % Of the messages that the other fields match; the seed is 0 by default.
        share => number(),
        seed => integer()
    }
    % Of a crash.
    | #{node => one_or_more(name()), event => pos_integer()}.
-type action() ::
    drop
    | {delay | ingress_delay | reorder, ms()}
    | duplicate
    | {corrupt, partisan_fault_corruption:how()}
    | {partition, Groups :: [[name()]]}
    | crash
    | fun((event()) -> decision()).
-type event() ::
    {message, Now :: ms(), From :: name(), To :: name(), Channel :: atom(), Msg :: term()}
    % A node is about to handle its next event.
    | {step, Now :: ms(), name()}.
-type decision() :: pass | drop | {delay, ms()} | duplicate | {replace, term()} | crash.
-type key() :: {From :: name(), To :: name(), Type :: atom()} | {step, name()}.
-type counts() :: #{key() => pos_integer()}.

-record(rule, {
    name :: binary(),
    action :: action(),
    since :: ms(),
    until :: ms() | infinity,
    from = any :: any | [name()],
    to = any :: any | [name()],
    channel = any :: any | [atom()],
    type = any :: any | [atom()],
    node = any :: any | [name()],
    occurrence = any :: any | [pos_integer()],
    share = 1 :: number(),
    seed = 0 :: integer(),
    groups = #{} :: #{name() => pos_integer()}
}).

-record(faults, {
    messages = [] :: [#rule{}],
    steps = [] :: [#rule{}],
    partitions = [] :: [#rule{}]
}).

-opaque compiled() :: #faults{}.
%% Rules that match a message by its key.
-opaque selected() :: [#rule{}].

-export_type([rule/0, match/0, action/0, ms/0]).
-export_type([event/0, decision/0, key/0, counts/0, compiled/0, selected/0]).

%% Draws have so many different values.
-define(DRAWS, (1 bsl 24)).

%% @doc Whether these are rules; otherwise the description names the rule, its field and the fix.
-spec check(term()) -> ok | {error, Description :: string()}.
check(Rules) ->
    partisan_fault_check:rules(Rules).

%% @doc Rules in the form that decides fast. Raises `{invalid_rules, Description}'.
-spec compile([rule()]) -> compiled().
compile(Rules) ->
    case check(Rules) of
        ok -> compiled([compiled_rule(Rule) || Rule <- Rules]);
        {error, Description} -> error({invalid_rules, Description})
    end.

%% @doc Decides an event, and counts it.
-spec decide(compiled(), event(), counts()) -> {decision(), counts()}.
decide(Faults, Event, Counts) ->
    case select(Faults, Event) of
        none ->
            {pass, Counts};
        Selected ->
            Key = key(Event),
            Occurrence = maps:get(Key, Counts, 0) + 1,
            Counted = Counts#{Key => Occurrence},
            case choose(Selected, Event, Occurrence) of
                pass -> {pass, Counted};
                {_Name, Decision} -> {Decision, Counted}
            end
    end.

%% @doc The rules for events of this key; `none' if no rule will ever match it. Only the others are
%% counted.
-spec select(compiled(), event()) -> none | selected().
select(#faults{messages = []}, {message, _, _, _, _, _}) ->
    none;
select(#faults{messages = Rules}, {message, _, From, To, _, Msg}) ->
    some([Rule || Rule <- Rules, is_between(From, To, Rule), is_of_type(Msg, Rule)]);
select(#faults{steps = []}, {step, _, _}) ->
    none;
select(#faults{steps = Rules}, {step, _, Node}) ->
    some([Rule || #rule{node = Nodes} = Rule <- Rules, is_in(Node, Nodes)]).

%% @doc The key of an event, under which it is counted.
-spec key(event()) -> key().
key({message, _, From, To, _, Msg}) -> {From, To, partisan_process:type(Msg)};
key({step, _, Node}) -> {step, Node}.

%% @doc The first of the selected rules that matches, and its decision.
-spec choose(selected(), event(), Occurrence :: pos_integer()) ->
    pass | {Name :: binary(), decision()}.
choose([], _Event, _Occurrence) ->
    pass;
choose([#rule{name = Name} = Rule | Rules], Event, Occurrence) ->
    case matches(Rule, Event, Occurrence) of
        true -> chosen(Name, decision(Rule, Event, Occurrence));
        false -> choose(Rules, Event, Occurrence)
    end.

%% @doc The name of a partition in force that separates these nodes.
-spec partition(name(), name(), Now :: ms(), compiled()) -> {ok, Name :: binary()} | none.
partition(A, B, Now, #faults{partitions = Partitions}) ->
    Separating = [
        Name
     || #rule{name = Name} = Rule <- Partitions,
        is_in_force(Now, Rule),
        side(A, Rule) =/= side(B, Rule)
    ],
    case Separating of
        [] -> none;
        [Name | _] -> {ok, Name}
    end.

%% @doc Whether a term is one of a share of all terms: the draw of every random fault.
-spec is_drawn(Share :: number(), term()) -> boolean().
is_drawn(Share, Term) ->
    erlang:phash2(Term, ?DRAWS) < Share * ?DRAWS.

%% Internals: matching.

some([]) -> none;
some(Rules) -> Rules.

is_between(From, To, #rule{action = {partition, _}} = Rule) ->
    side(From, Rule) =/= side(To, Rule);
is_between(From, To, #rule{from = Froms, to = Tos}) ->
    is_in(From, Froms) andalso is_in(To, Tos).

is_of_type(_Msg, #rule{type = any}) -> true;
is_of_type(Msg, #rule{type = Types}) -> lists:member(partisan_process:type(Msg), Types).

is_in(_Value, any) -> true;
is_in(Value, Values) -> lists:member(Value, Values).

side(Node, #rule{groups = Groups}) ->
    maps:get(Node, Groups, rest).

matches(Rule, {message, Now, _, _, Channel, _} = Event, Occurrence) ->
    #rule{channel = Channels, occurrence = Occurrences} = Rule,
    is_in_force(Now, Rule) andalso is_in(Channel, Channels) andalso
        is_in(Occurrence, Occurrences) andalso is_of_share(Rule, Event, Occurrence);
matches(#rule{occurrence = Occurrences} = Rule, {step, Now, _}, Occurrence) ->
    is_in_force(Now, Rule) andalso is_in(Occurrence, Occurrences).

is_in_force(Now, #rule{since = Since, until = Until}) ->
    % An atom is greater than any number.
    Now >= Since andalso Now < Until.

is_of_share(#rule{share = 1}, _Event, _Occurrence) -> true;
is_of_share(#rule{share = Share} = Rule, Event, Occurrence) ->
    is_drawn(Share, {share, drawn_from(Rule, Event, Occurrence)}).

%% Rules of different names draw independently.
drawn_from(#rule{name = Name, seed = Seed}, Event, Occurrence) ->
    {Seed, Name, key(Event), Occurrence}.

%% Internals: deciding.

%% A function may decide that its rule does not act, or return nonsense.
chosen(_Name, pass) -> pass;
chosen(Name, {delay, Ms}) when is_integer(Ms), Ms >= 0 -> {Name, {delay, Ms}};
chosen(Name, {replace, Other}) -> {Name, {replace, Other}};
chosen(Name, Act) when Act =:= drop; Act =:= duplicate; Act =:= crash -> {Name, Act}.

decision(#rule{action = drop}, _, _) -> drop;
decision(#rule{action = {partition, _}}, _, _) -> drop;
decision(#rule{action = {delay, Ms}}, _, _) -> {delay, Ms};
decision(#rule{action = {ingress_delay, Ms}}, _, _) -> {delay, Ms};
decision(#rule{action = duplicate}, _, _) -> duplicate;
decision(#rule{action = crash}, _, _) -> crash;
decision(#rule{action = {corrupt, How}}, {message, _, _, _, _, Msg}, _) ->
    {replace, partisan_fault_corruption:corrupt(How, Msg)};
decision(#rule{action = {reorder, Ms}} = Rule, Event, Occurrence) ->
    {delay, erlang:phash2({reorder, drawn_from(Rule, Event, Occurrence)}, Ms + 1)};
decision(#rule{action = Fun}, Event, _) when is_function(Fun, 1) ->
    Fun(Event).

%% Internals: compiling.

compiled(Rules) ->
    {Steps, Messages} = lists:partition(fun(#rule{action = Action}) -> Action =:= crash end, Rules),
    #faults{
        messages = Messages,
        steps = Steps,
        partitions = [Rule || #rule{action = {partition, _}} = Rule <- Messages]
    }.

compiled_rule(#{name := Name, action := Action} = Rule) ->
    Match = maps:get(match, Rule, #{}),
    Set = fun(Field) ->
        case Match of
            #{Field := Values} when is_list(Values) -> Values;
            #{Field := Value} -> [Value];
            #{} -> any
        end
    end,
    #rule{
        name = Name,
        action = Action,
        since = maps:get(since, Rule, 0),
        until = maps:get(until, Rule, infinity),
        from = Set(from),
        to = Set(to),
        channel = Set(channel),
        type = Set(message),
        node = Set(node),
        occurrence =
            case Action of
                crash -> Set(event);
                _ -> Set(occurrence)
            end,
        share = maps:get(share, Match, 1),
        seed = maps:get(seed, Match, 0),
        groups =
            case Action of
                {partition, Groups} -> groups(Groups);
                _ -> #{}
            end
    }.

groups(Groups) ->
    maps:from_list([{Node, Number} || {Number, Group} <- lists:enumerate(Groups), Node <- Group]).
