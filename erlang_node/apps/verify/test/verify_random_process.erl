%% A process whose behaviour is a table: for property tests of the explorer.
%%
%% Its state is a small number. `program' maps {State, Type} to {State, [Action]}, where Type is the
%% type of a message, `timer' or `start'. Symmetric: it sends to all others, or to the sender. Every
%% execution ends, as it handles `events' events of each source.
-module(verify_random_process).

-behaviour(partisan_process).

-export([init/1, handle/2, scenario/1, verdict/1, symmetry/1]).

init(#{self := Self, members := Members, program := Program} = Options) ->
    Fails = maps:get(fails, Options, none),
    S = #{others => Members -- [Self], program => Program, state => 0, fails => Fails},
    {S#{events => maps:get(events, Options, 2), handled => #{}}, []}.

handle({message, _From, m1}, #{fails := crash}) ->
    error(asked_to);
handle({message, _From, m1}, #{fails := loop} = S) ->
    loop(S);
handle({call, _Ref, start}, #{program := Program} = S) when map_size(Program) =:= 0 ->
    {S, sends(m1, S)};
handle({call, _Ref, start}, S) ->
    act(start, none, S);
handle({timer, timer}, S) ->
    act(timer, none, S);
handle({message, From, Type}, S) ->
    act(Type, From, S).

act(Type, From, #{handled := Handled, events := Events} = S) ->
    case maps:get(From, Handled, 0) of
        Events -> {S, []};
        Before -> run(Type, From, S#{handled := Handled#{From => Before + 1}})
    end.

run(Type, From, #{program := Program, state := State} = S0) ->
    {Next, Actions} = maps:get({State, Type}, Program, {State, []}),
    S = S0#{state := Next},
    {S, lists:flatmap(fun(Action) -> effects(Action, From, S) end, Actions)}.

effects({all, Type}, _From, S) -> sends(Type, S);
effects({back, _Type}, none, _S) -> [];
effects({back, Type}, From, _S) -> [{send, From, Type}];
effects(timer, _From, _S) -> [{start_timer, timer, 5}];
effects(deliver, _From, #{state := State}) -> [{deliver, State}];
effects(persist, _From, #{state := State}) -> [{persist, State}].

sends(Type, #{others := Others}) ->
    [{send, Other, Type} || Other <- Others].

loop(S) -> loop([S]).

scenario([First | _]) ->
    [{0, First, {call, start, start}}].

verdict(_Outcome) ->
    ok.

symmetry(Members) ->
    [Members].
