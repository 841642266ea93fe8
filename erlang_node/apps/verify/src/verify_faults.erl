%%% @doc The fault model of an execution: which faults may be injected, and the rules of those that
%%% are active.
%%%
%%% The kinds of a campaign, and their steps:
%%% <ul>
%%% <li>`partition': `{fault, partition, [[Group, Rest]]}', nothing passes between the groups</li>
%%% <li>`delay': `{fault, egress_delay, [From, To]}', messages from one to the other are late</li>
%%% <li>`corrupt': `{fault, byzantine, [Node, bitflip]}', a node's messages have altered values</li>
%%% <li>`crash': `{fault, crash, [Node, N]}', before its Nth event from now a node loses all but
%%%     what it has persisted</li>
%%% <li>any: `{fault, resolve_all, []}', all faults end, nodes that are down restart</li>
%%% </ul>
%%% Models add kinds of their own ({@link verify_model}).
%%%
%%% == Tolerance ==
%%% At most `tolerance' nodes are faulty at a time. A partition makes all groups but the largest
%%% faulty. A late link makes one of its ends faulty: faults are tolerated if a set of that many
%%% nodes contains the faulty ones and an end of every late link.
-module(verify_faults).

-export([kinds/0]).
-export([new/4]).
-export([choices/1]).
-export([allows/2]).
-export([inject/2]).
-export([generators/2]).

-type name() :: partisan_process:name().
-type kind() :: partition | delay | corrupt | crash | (Custom :: atom()).

-record(faults, {
    nodes :: [name()],
    tolerance :: non_neg_integer(),
    % Names of the steps that are allowed, without `resolve_all'.
    names :: [atom()],
    custom :: #{atom() => verify_model:custom_fault()},
    % Oldest first.
    active = [] :: [{Name :: atom(), Arguments :: [term()]}]
}).

-opaque t() :: #faults{}.
-export_type([t/0, kind/0]).

%% Longer than any request waits, so that a late message is one that does not come in time.
-define(DELAY, 3000).
%% A request at a coordinator takes a few events; a crash comes before any of them.
-define(EVENTS, 5).

-define(NAMES, #{
    partition => partition, delay => egress_delay, corrupt => byzantine, crash => crash
}).

%% @doc The faults that every model has.
-spec kinds() -> [kind()].
kinds() ->
    [partition, delay, corrupt, crash].

%% @doc No fault yet; those of these kinds are allowed.
-spec new([name()], Tolerance :: non_neg_integer(), [kind()], [verify_model:custom_fault()]) -> t().
new(Nodes, Tolerance, Kinds, Custom) ->
    #faults{
        nodes = Nodes,
        tolerance = Tolerance,
        names = [maps:get(Kind, ?NAMES, Kind) || Kind <- Kinds],
        custom = maps:from_list([{Name, Fault} || #{name := Name} = Fault <- Custom])
    }.

%% @doc Faults to draw from, with generators of their arguments.
-spec choices(t()) -> [{Weight :: pos_integer(), {fault, atom(), [verify_generate:generator()]}}].
choices(#faults{tolerance = 0}) ->
    [];
choices(#faults{names = Names, active = Active} = F) ->
    [{1, {fault, Name, generators(Name, F)}} || Name <- Names] ++
        [{1, {fault, resolve_all, []}} || Active =/= []].

%% @doc Whether a fault can be injected now.
-spec allows(verify_model:fault(), t()) -> boolean().
allows({fault, resolve_all, []}, #faults{active = Active}) ->
    Active =/= [];
allows({fault, egress_delay, [Same, Same]}, #faults{}) ->
    false;
allows({fault, Name, Arguments}, #faults{names = Names, active = Active} = F) ->
    Fault = {Name, Arguments},
    lists:member(Name, Names) andalso not lists:member(Fault, Active) andalso
        is_tolerated(F#faults{active = [Fault | Active]}).

%% @doc Injects a fault: the rules that are in force then, and what to do now.
-spec inject(verify_model:fault(), t()) -> {[partisan_fault:rule()], [verify_model:action()], t()}.
inject({fault, resolve_all, []}, #faults{nodes = Nodes} = F) ->
    {[], [{restart, Name} || Name <- Nodes], F#faults{active = []}};
inject({fault, Name, Arguments}, #faults{active = Active} = F0) ->
    F = F0#faults{active = Active ++ [{Name, Arguments}]},
    {rules(F), actions(Name, Arguments, F), F}.

%% @doc The generators of a fault's arguments.
-spec generators(Name :: atom(), t()) -> [verify_generate:generator()].
generators(resolve_all, #faults{}) ->
    [];
generators(partition, #faults{nodes = Nodes, tolerance = Tolerance}) ->
    [{split, max(1, min(Tolerance, length(Nodes) div 2))}];
generators(egress_delay, #faults{}) ->
    [node, node];
generators(byzantine, #faults{}) ->
    [node, {exactly, bitflip}];
generators(crash, #faults{}) ->
    [node, {integer, 1, ?EVENTS}];
generators(Name, #faults{custom = Custom}) ->
    #{Name := #{arguments := Generators}} = Custom,
    Generators.

%% Internals.

rules(#faults{active = Active, custom = Custom}) ->
    Numbered = lists:zip(lists:seq(1, length(Active)), Active),
    lists:append([numbered(Number, rules(Fault, Custom)) || {Number, Fault} <- Numbered]).

%% Rules have different names; a fault may have several.
numbered(Number, Rules) ->
    [
        Rule#{name => iolist_to_binary([integer_to_list(Number), $\s, Name])}
     || #{name := Name} = Rule <- Rules
    ].

rules({partition, [Groups]}, _) ->
    [#{name => <<"partition">>, action => {partition, Groups}}];
rules({egress_delay, [From, To]}, _) ->
    [#{name => <<"delay">>, match => #{from => From, to => To}, action => {delay, ?DELAY}}];
rules({byzantine, [Name, bitflip]}, _) ->
    [#{name => <<"corrupt">>, match => #{from => Name}, action => {corrupt, bit_flip}}];
rules({crash, [Name, Event]}, _) ->
    [#{name => <<"crash">>, match => #{node => Name, event => Event}, action => crash}];
rules({Name, Arguments}, Custom) ->
    case Custom of
        #{Name := #{rules := Rules}} -> Rules(Arguments);
        #{} -> []
    end.

actions(Name, Arguments, #faults{custom = Custom}) ->
    case Custom of
        #{Name := #{actions := Actions}} -> Actions(Arguments);
        #{} -> []
    end.

is_tolerated(#faults{active = Active, tolerance = Tolerance} = F) ->
    Faulty = lists:usort(lists:append([faulty(Fault, F) || Fault <- Active])),
    Links = [Ends || {egress_delay, Ends} <- Active, Ends -- Faulty =:= Ends],
    is_covered(Links, Tolerance - length(Faulty)).

faulty({partition, [Groups]}, #faults{}) ->
    [_Largest | Smaller] = lists:sort(fun(A, B) -> length(A) >= length(B) end, Groups),
    lists:append(Smaller);
faulty({egress_delay, _}, #faults{}) ->
    [];
faulty({byzantine, [Name, _]}, #faults{}) ->
    [Name];
faulty({crash, [Name, _]}, #faults{}) ->
    [Name];
faulty({Name, Arguments}, #faults{custom = Custom}) ->
    #{Name := #{blames := Blames}} = Custom,
    Blames(Arguments).

%% Whether that many nodes include an end of every link: one of the first link's ends is needed.
is_covered(_Links, Nodes) when Nodes < 0 -> false;
is_covered([], _Nodes) -> true;
is_covered(_Links, 0) -> false;
is_covered([Ends | _] = Links, Nodes) ->
    lists:any(
        fun(End) -> is_covered([L || L <- Links, not lists:member(End, L)], Nodes - 1) end, Ends
    ).
