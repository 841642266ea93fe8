%%% @doc Eventual consistency of {@link quorum_kv} with quorums of 1 and repair: reads return values
%%% that were written, and when faults have ended all replicas hold the same, with a value for each
%%% key that a write has acknowledged.
-module(quorum_kv_eventual).

-include("quorum_kv_model.hrl").

-record(written, {
    values = #{} :: #{atom() => [integer()]},
    acknowledged = [] :: ordsets:ordset(atom()),
    lied = false :: boolean()
}).

%% Internals.

options() -> #{read_quorum => 1, write_quorum => 1, repair => 2000}.

nothing() -> #written{}.

learn({write, [_Node, Key, Value]}, Result, #written{values = Values} = W) ->
    Written = W#written{values = Values#{Key => [Value | maps:get(Key, Values, [])]}},
    case Result of
        ok -> Written#written{acknowledged = ordsets:add_element(Key, W#written.acknowledged)};
        _ -> Written
    end;
learn({fault, byzantine, _}, _Result, #written{} = W) ->
    W#written{lied = true};
learn(_Step, _Result, #written{} = W) ->
    W.

allows(_Read, _Result, #written{lied = true}) ->
    ok;
allows({read, [_Node, Key]}, {ok, Value}, #written{values = Values}) ->
    case lists:member(Value, maps:get(Key, Values, [])) of
        true -> ok;
        false -> {violated, io_lib:format("~tp was never written to ~tp", [Value, Key])}
    end;
allows(_Read, Result, #written{}) when Result =:= not_found; Result =:= {error, timeout} ->
    ok;
allows(_Read, Result, #written{}) ->
    {violated, io_lib:format("the read has ~tp", [Result])}.

settled(_Contents, #written{lied = true}) ->
    ok;
settled(Contents, #written{acknowledged = Acknowledged}) ->
    case lists:usort(maps:values(Contents)) of
        [Same] ->
            case Acknowledged -- [Key || {Key, _} <- Same] of
                [] -> ok;
                [Key | _] -> {violated, io_lib:format("~tp is lost", [Key])}
            end;
        _ ->
            Arguments = [lists:sort(maps:to_list(Contents))],
            {violated, io_lib:format("replicas differ: ~0tp", Arguments)}
    end.
