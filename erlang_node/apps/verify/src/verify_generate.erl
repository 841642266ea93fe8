%%% @doc Values drawn from generators, which are data: any engine interprets them.
%%%
%%% ```
%%% {one_of, [x, y]}          an element
%%% {integer, 1, 9}           an integer of that range
%%% node                      the name of a node
%%% {split, 1}                the nodes as two groups, the first of at most 1
%%% {exactly, bitflip}        this value
%%% '''
-module(verify_generate).

-export([value/3]).
-export([values/3]).
-export([weighted/2]).
-export([simpler/3]).

-type name() :: partisan_process:name().
-type generator() ::
    {one_of, [term(), ...]}
    | {integer, Least :: integer(), Most :: integer()}
    | node
    | {split, Most :: pos_integer()}
    | {exactly, term()}.
-export_type([generator/0]).

%% @doc Draws a value.
-spec value(generator(), Nodes :: [name(), ...], rand:state()) -> {term(), rand:state()}.
value({exactly, Value}, _Nodes, Random) ->
    {Value, Random};
value({one_of, Values}, _Nodes, Random) ->
    partisan_random:pick(Values, Random);
value(node, Nodes, Random) ->
    partisan_random:pick(Nodes, Random);
value({integer, Least, Most}, _Nodes, Random0) ->
    {Drawn, Random} = rand:uniform_s(Most - Least + 1, Random0),
    {Least + Drawn - 1, Random};
value({split, Most}, Nodes, Random0) ->
    {Size, Random1} = rand:uniform_s(Most, Random0),
    {Group, Random} = partisan_random:sample(Size, Nodes, Random1),
    {split(lists:sort(Group), Nodes), Random}.

%% @doc Draws a value of each generator.
-spec values([generator()], Nodes :: [name(), ...], rand:state()) -> {[term()], rand:state()}.
values(Generators, Nodes, Random0) ->
    lists:mapfoldl(fun(Generator, R) -> value(Generator, Nodes, R) end, Random0, Generators).

%% @doc Draws an element by its weight.
-spec weighted([{Weight :: pos_integer(), Element}, ...], rand:state()) -> {Element, rand:state()}.
weighted(Choices, Random0) ->
    {Drawn, Random} = rand:uniform_s(lists:sum([Weight || {Weight, _} <- Choices]), Random0),
    {at(Drawn, Choices), Random}.

%% @doc Values of the generator that are simpler than this one, the simplest first: those before it
%% in the generator's order.
-spec simpler(generator(), Nodes :: [name(), ...], term()) -> [term()].
simpler({exactly, _}, _Nodes, _Value) -> [];
simpler({one_of, Values}, _Nodes, Value) -> before(Value, Values);
simpler(node, Nodes, Value) -> before(Value, Nodes);
simpler({integer, Least, _}, _Nodes, Value) -> lists:seq(Least, Value - 1);
simpler({split, _}, Nodes, Value) -> before(Value, [split([Node], Nodes) || Node <- Nodes]).

%% Internals.

split(Group, Nodes) ->
    [Group, Nodes -- Group].

at(Drawn, [{Weight, Element} | _]) when Drawn =< Weight -> Element;
at(Drawn, [{Weight, _} | Rest]) -> at(Drawn - Weight, Rest).

before(Value, Values) ->
    lists:takewhile(fun(Other) -> Other =/= Value end, Values).
