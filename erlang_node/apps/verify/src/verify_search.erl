%%% @doc A search for violations as data: the protocol, the faults and the limits, which {@link
%%% verify_explore} and {@link verify_order} run.
%%%
%%% ```
%%% #{module => three_phase_commit, nodes => 4}
%%% #{module => my_protocol, nodes => 3, decisions => [drop, crash], most => 3, deadline => 60000,
%%%   property => fun(World) -> ok end}
%%% '''
-module(verify_search).

-export([check/1]).
-export([complete/1]).
-export([world/1]).
-export([violation/2]).
-export([violation/3]).
-export([group/1]).

-type name() :: partisan_process:name().
-type kind() :: drop | late | duplicate | {corrupt, How :: term()} | crash.

%% `nodes': names, or the number of nodes `n1', `n2' ...
%% `scenario', `property', `symmetry': instead of the module's `scenario/1', `verdict/1' and
%% `symmetry/1'.
%% `world': further options of {@link verify_world:new/1}; no trace is kept by default.
%%
%% `scope' (recursive): `recursive' decides about every message; `base' only about messages of the
%% execution without faults; `raw' runs every subset of the decisions about these.
%% `order' (distinct): whether symmetric executions count once.
%% `decisions' ([drop]): what may happen to a message, and whether nodes crash.
%% `merge' (false): whether what follows equal situations is explored once. Not if executions are
%% to be counted, or if the property depends on time or trace.
%% `inert' ([]): unsound. Types of messages that are never decided about; `learn': those without
%% effect in the execution without faults.
%%
%% `most' (infinity): decisions in one execution. `executions' (infinity), `deadline' (infinity,
%% milliseconds): the search stops there.
%% `shard' ({0, 1}): explores the subtrees whose number modulo the second is the first.
%% `examples' (64): counterexamples in the result.
%% `progress': is called about every second.
-type t() :: #{
    module := module(),
    nodes := pos_integer() | [name()],
    options => map() | fun((name()) -> map()),
    world => map(),
    scenario => [{Milliseconds :: non_neg_integer(), name(), partisan_process:event()}],
    property => fun((verify_world:t()) -> ok | {violated, iodata()}),
    symmetry => [[name()]],
    scope => raw | base | recursive,
    order => distinct | symmetric,
    decisions => [kind()],
    merge => boolean(),
    inert => [atom()] | learn,
    most => non_neg_integer() | infinity,
    executions => pos_integer() | infinity,
    deadline => pos_integer() | infinity,
    shard => {non_neg_integer(), pos_integer()},
    examples => non_neg_integer(),
    progress => fun((map()) -> term())
}.

-export_type([t/0, kind/0]).

%% Of a verdict, a scenario or a symmetry: more than any that ends in seconds.
-define(REDUCTIONS, 200000000).

%% @doc Whether this can be searched; otherwise the description names the field and the fix.
-spec check(t()) -> ok | {error, Description :: string()}.
check(Search) ->
    try complete(Search) of
        #{} -> ok
    catch
        error:{invalid_search, Description} -> {error, Description}
    end.

%% @doc The search with all its fields. Raises `{invalid_search, Description}'.
-spec complete(t()) -> map().
complete(Search) ->
    #{module := Module, nodes := Nodes} = required(Search),
    loaded(Module),
    Names = names(Nodes),
    Defaults = #{
        options => #{},
        world => #{},
        scenario => default(Module, scenario, Names, none),
        property => property(Module),
        symmetry => default(Module, symmetry, Names, []),
        scope => recursive,
        order => distinct,
        decisions => [drop],
        merge => false,
        inert => [],
        most => infinity,
        executions => infinity,
        deadline => infinity,
        shard => {0, 1},
        examples => 64,
        progress => none
    },
    case maps:keys(Search) -- [module, nodes | maps:keys(Defaults)] of
        [] -> ok;
        [Unknown | _] -> invalid("~tp: no field of a search; remove it", [Unknown])
    end,
    Complete = maps:merge(Defaults, Search#{nodes := Names}),
    lists:foreach(fun(Field) -> checked(Field, map_get(Field, Complete)) end, fields()),
    lists:foreach(fun(Event) -> event(Event, Names) end, map_get(scenario, Complete)),
    consistent(Complete),
    Complete.

%% @doc The world of a complete search at its beginning.
-spec world(map()) -> verify_world:t().
world(#{module := Module, nodes := Names, options := Options} = Search) ->
    #{world := Further, scenario := Scenario, decisions := Kinds} = Search,
    World = verify_world:new(Further#{
        module => Module, nodes => Names, options => Options, crashes => lists:member(crash, Kinds)
    }),
    lists:foldl(
        fun({At, Name, Event}, W) -> verify_world:inject_at(At, Name, Event, W) end, World, Scenario
    ).

%% @doc Whether an execution that has ended violates the property; a callback that fails does.
-spec violation(map(), verify_world:t()) -> ok | {violated, iodata()}.
violation(#{property := Property}, World) ->
    case verify_world:error(World) of
        none -> verdict(Property(World));
        Failure -> {violated, failure(Failure)}
    end.

%% @doc As {@link violation/2}, but a property that does not return raises
%% `{invalid_search, Description}', if it is guarded.
-spec violation(map(), verify_world:t(), IsGuarded :: boolean()) -> ok | {violated, iodata()}.
violation(Search, World, false) ->
    violation(Search, World);
violation(#{world := Options} = Search, World, true) ->
    Budget = maps:get(reductions, Options, ?REDUCTIONS),
    returned(property, fun() -> violation(Search, World) end, Budget).

%% @doc The renamings of a search: interchangeable nodes without those of the scenario.
-spec group(map()) -> verify_symmetry:group().
group(#{symmetry := Sets, scenario := Scenario}) ->
    verify_symmetry:group(Sets, [Name || {_At, Name, _Event} <- Scenario]).

%% Internals.

required(#{module := Module, nodes := _} = Search) when is_atom(Module) -> Search;
required(_Search) -> invalid("module, nodes: required", []).

loaded(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> ok;
        {error, _} -> invalid("module ~tp: not found; compile it and add its path", [Module])
    end,
    [
        invalid("module ~tp: exports no ~tp/~b; implement partisan_process", [Module, Name, Arity])
     || {Name, Arity} <- [{init, 1}, {handle, 2}], not erlang:function_exported(Module, Name, Arity)
    ].

names(Names) when length(Names) > 0 ->
    case lists:all(fun is_binary/1, Names) andalso length(lists:usort(Names)) =:= length(Names) of
        true -> lists:sort(Names);
        false -> invalid("nodes ~tp: must be different binaries", [Names])
    end;
names(Number) when is_integer(Number), Number > 0, Number < 100 ->
    [iolist_to_binary(["n", integer_to_list(N)]) || N <- lists:seq(1, Number)];
names(Other) ->
    invalid("nodes ~tp: must be a number from 1 to 99, or names", [Other]).

default(Module, Function, Names, Default) ->
    case erlang:function_exported(Module, Function, 1) of
        true -> returned(Function, fun() -> Module:Function(Names) end, ?REDUCTIONS);
        false -> Default
    end.

%% The result of a function of the user's. Its exceptions are raised.
returned(Field, Fun, Budget) ->
    Work = fun() ->
        try
            {ok, Fun()}
        catch
            Class:Reason:Stack -> {raised, Class, Reason, Stack}
        end
    end,
    case verify_callback:guarded(Work, Budget) of
        {ok, Result} -> Result;
        {raised, Class, Reason, Stack} -> erlang:raise(Class, Reason, Stack);
        looping -> invalid("~tp: does not return, or needs more than 128 MB", [Field])
    end.

verdict(Returned) ->
    verify_model:is_verdict(Returned) orelse
        invalid("property: ~0tP is neither ok nor {violated, Text}", [Returned, 12]),
    Returned.

property(Module) ->
    case erlang:function_exported(Module, verdict, 1) of
        true -> fun(World) -> Module:verdict(verify_world:outcome(World)) end;
        false -> none
    end.

fields() ->
    [options, scenario, property, scope, order, decisions, most, executions, deadline, shard] ++
        [world, merge, inert, examples, progress].

checked(options, Options) when is_map(Options); is_function(Options, 1) -> ok;
checked(options, Options) -> invalid("options ~0tp: a map, or a function of the name", [Options]);
checked(scenario, [_ | _] = Events) when length(Events) > 0 -> ok;
checked(scenario, _) -> invalid("scenario: no event; export scenario/1 or give one", []);
checked(property, Fun) when is_function(Fun, 1) -> ok;
checked(property, _) -> invalid("property: none; export verdict/1 or give a function", []);
checked(scope, Scope) when Scope =:= raw; Scope =:= base; Scope =:= recursive -> ok;
checked(scope, Scope) -> invalid("scope ~tp: raw, base or recursive", [Scope]);
checked(order, Order) when Order =:= distinct; Order =:= symmetric -> ok;
checked(order, Order) -> invalid("order ~tp: distinct or symmetric", [Order]);
checked(decisions, Kinds) when length(Kinds) >= 0 -> lists:foreach(fun kind/1, Kinds);
checked(decisions, Kinds) -> invalid("decisions ~tp: must be a list", [Kinds]);
checked(most, Most) when Most =:= infinity; is_integer(Most), Most >= 0 -> ok;
checked(shard, {I, N}) when is_integer(I), is_integer(N), I >= 0, I < N -> ok;
checked(shard, Shard) -> invalid("shard ~tp: {Index, Number} with Index < Number", [Shard]);
checked(world, World) when is_map(World) -> maps:foreach(fun option/2, World);
checked(world, World) -> invalid("world ~0tp: must be a map", [World]);
checked(merge, Merge) when is_boolean(Merge) -> ok;
checked(merge, Merge) -> invalid("merge ~0tp: true or false", [Merge]);
checked(inert, Types) when Types =:= learn; length(Types) >= 0 -> ok;
checked(inert, Types) -> invalid("inert ~0tp: a list of types of messages, or learn", [Types]);
checked(examples, Number) when is_integer(Number), Number >= 0 -> ok;
checked(examples, Number) -> invalid("examples ~0tp: an integer from 0 on", [Number]);
checked(progress, Fun) when Fun =:= none; is_function(Fun, 1) -> ok;
checked(progress, Fun) -> invalid("progress ~0tp: a function of a map", [Fun]);
checked(_Limit, infinity) -> ok;
checked(_Limit, Value) when is_integer(Value), Value > 0 -> ok;
checked(Limit, Value) -> invalid("~tp ~tp: a positive integer or infinity", [Limit, Value]).

%% Of {@link verify_world:new/1}.
option(horizon, infinity) -> ok;
option(restart, never) -> ok;
option(Name, Ms) when Name =:= horizon orelse Name =:= restart, is_integer(Ms), Ms >= 0 -> ok;
option(seed, Seed) when is_integer(Seed) -> ok;
option(Name, Value) when is_boolean(Value) ->
    lists:member(Name, [crashes, trace, guard]) orelse no_option(Name, Value);
option(Name, Value) when is_integer(Value), Value > 0 ->
    lists:member(Name, [latency, late, reductions, events]) orelse no_option(Name, Value);
option(Name, Value) ->
    no_option(Name, Value).

-spec no_option(term(), term()) -> no_return().
no_option(Name, Value) ->
    invalid("world: ~0tp => ~0tp is no option of verify_world:new/1", [Name, Value]).

event({At, Name, Event}, Names) when is_integer(At), At >= 0, is_tuple(Event) ->
    lists:member(Name, Names) orelse
        invalid("scenario: ~0tp is no node of ~0tp", [Name, Names]);
event(Event, _Names) ->
    invalid("scenario: ~0tp is no {Milliseconds, Node, Event}", [Event]).

kind(Kind) when Kind =:= drop; Kind =:= late; Kind =:= duplicate; Kind =:= crash -> ok;
kind({corrupt, {replace, _Term}}) -> ok;
kind({corrupt, How}) when How =:= bit_flip; is_function(How, 1) -> ok;
kind(Kind) -> invalid("decisions ~tp: drop, late, duplicate, crash or {corrupt, How}", [Kind]).

consistent(#{merge := true, scope := Scope}) when Scope =/= recursive ->
    invalid("merge: only with scope recursive", []);
consistent(#{merge := true, order := symmetric}) ->
    invalid("merge: not with order symmetric", []);
consistent(#{scope := raw, order := symmetric}) ->
    invalid("scope raw: not with order symmetric", []);
consistent(#{scope := raw, most := Most}) when Most =/= infinity ->
    invalid("scope raw: not with most", []);
consistent(#{scope := raw, inert := Inert}) when Inert =/= [] ->
    invalid("scope raw: not with inert", []);
consistent(#{scope := raw, shard := {_, Shards}}) when Shards > 1 ->
    invalid("scope raw: not in shards", []);
consistent(#{scope := Scope, order := Order, decisions := Kinds}) when
    Scope =:= raw; Order =:= symmetric
->
    case lists:member(crash, Kinds) of
        true when Scope =:= raw -> invalid("scope raw: not with crash", []);
        true -> invalid("order symmetric: not with crash, whose effect depends on names", []);
        false -> ok
    end;
consistent(_Search) ->
    ok.

-spec invalid(string(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    error({invalid_search, lists:flatten(io_lib:format(Format, Arguments))}).

failure({crashed, Name, Event, Class, Reason, _Stack}) ->
    io_lib:format("~ts crashed at ~tp: ~tp ~tp", [Name, Event, Class, Reason]);
failure({looping, Name, events}) ->
    io_lib:format("events without an end, the last at ~ts", [Name]);
failure({looping, Name, Event}) ->
    io_lib:format("~ts does not return from ~tp", [Name, Event]).
