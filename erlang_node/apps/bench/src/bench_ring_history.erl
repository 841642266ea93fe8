%%% @doc One virtual machine's part of a history of the key-value store, for judges: each actor
%%% writes a key of its own, and all read the keys of all three nodes, with `atomic' reads.
-module(bench_ring_history).

-export([run/3]).

%% One in five requests is a write.
-define(REQUESTS, 5).
-define(TIMEOUT_MS, 10000).

-record(actor, {
    id :: {Node :: pos_integer(), Number :: pos_integer()},
    cell :: bench_ring:cell(),
    until :: integer(),
    contexts = #{} :: #{binary() => ring_dvv:context()},
    events = [] :: [ring_history:event()]
}).

%% @doc Runs the actors of a node until that time; what they saw. Values are unique.
-spec run(Node :: pos_integer(), bench_ring:cell(), Until :: integer()) -> [ring_history:event()].
run(Node, #{actors := Actors} = Cell, Until) ->
    Started = [
        bench_worker:start(fun() ->
            act(1, #actor{id = {Node, Number}, cell = Cell, until = Until})
        end)
     || Number <- lists:seq(1, Actors)
    ],
    lists:append([bench_worker:await(Worker) || Worker <- Started]).

%% Internals.

act(Count, #actor{until = Until, events = Events} = Actor) ->
    case bench_system:now() < Until of
        true -> act(Count + 1, step(Count, Actor));
        false -> Events
    end.

step(Count, #actor{id = Id, cell = #{actors := Actors}} = Actor) ->
    case rand:uniform(?REQUESTS) of
        1 -> request(key(Id), {value, {Id, Count}}, Actor);
        _ -> request(key({rand:uniform(3), rand:uniform(Actors)}), read, Actor)
    end.

request(Key, What, #actor{id = Id, contexts = Contexts, events = Events} = Actor) ->
    Known = maps:get(Key, Contexts, []),
    Options = #{context => Known, read => atomic, timeout => ?TIMEOUT_MS},
    Operation =
        case What of
            read -> {get, Key};
            _ -> {put, Key, What}
        end,
    Started = bench_system:now(),
    Result = ring_kvs:request(Operation, Options),
    Asked = #{session => Id, key => Key, started => Started, ended => bench_system:now()},
    {Seen, Context} = seen(What, Result, Asked, Known),
    Actor#actor{
        contexts = Contexts#{Key => ring_dvv:join(Known, Context)}, events = Seen ++ Events
    }.

seen(read, {ok, Set, Context}, Asked, _Known) ->
    Read = #{observed => ring_dvv:context(Set), values => ring_dvv:entries(Set)},
    {[{read, maps:merge(Asked, Read)}], Context};
seen(read, {error, _}, _Asked, Known) ->
    {[], Known};
seen({value, Value}, Result, Asked, Known) ->
    Write = Asked#{value => Value, context => Known},
    case Result of
        {ok, Dot, _Set, Context} -> {[{write, Write#{outcome => {ok, Dot, Context}}}], Context};
        {error, _} -> {[{write, Write#{outcome => failed}}], Known}
    end.

key({Node, Number}) ->
    list_to_binary(io_lib:format("~b-~b", [Node, Number])).
