%%% @doc Causal consistency of {@link quorum_kv} (Ahamad et al., "Causal memory: definitions,
%%% implementation, and programming", 1995). The requests at a node are a session. A write follows
%%% the earlier writes and reads of its session; a read must not return a value, nor its absence, if
%%% a later write of the key is in the causal past of the session.
%%%
%%% A write that timed out is part of no past until it is read. Two writes of a key with one value
%%% cannot be distinguished: a read of it is that of the one that allows more, and adds nothing to
%%% the session's past.
-module(quorum_kv_causal).

-include("quorum_kv_model.hrl").

%% A write is known by its number. `past': writes that each write follows. `session': the past of
%% the next request at a node.
-record(history, {
    next = 1 :: pos_integer(),
    writes = [] :: [{Key :: atom(), Value :: integer(), pos_integer()}],
    past = #{} :: #{pos_integer() => ordsets:ordset(pos_integer())},
    session = #{} :: #{partisan_process:name() => ordsets:ordset(pos_integer())},
    lied = false :: boolean()
}).

%% Internals.

options() -> #{}.

nothing() -> #history{}.

learn({write, [Node, Key, Value]}, Result, #history{next = Write} = H) ->
    Past = session(Node, H),
    Written = H#history{
        next = Write + 1,
        writes = [{Key, Value, Write} | H#history.writes],
        past = (H#history.past)#{Write => Past}
    },
    case Result of
        ok -> happened(Write, Node, Written);
        _ -> Written
    end;
learn({read, [Node, Key]}, {ok, Value}, #history{} = H) ->
    case writes(Key, Value, H) of
        [Write] -> happened(Write, Node, H);
        _ -> H
    end;
learn({fault, byzantine, _}, _Result, #history{} = H) ->
    H#history{lied = true};
learn(_Step, _Result, #history{} = H) ->
    H.

allows(_Read, _Result, #history{lied = true}) ->
    ok;
allows(_Read, {error, timeout}, #history{}) ->
    ok;
allows({read, [Node, Key]}, not_found, #history{writes = Writes} = H) ->
    case [Write || {Known, _, Write} <- Writes, Known =:= Key, in_past(Write, Node, H)] of
        [] -> ok;
        [_ | _] -> violated(Node, Key, not_found)
    end;
allows({read, [Node, Key]}, {ok, Value} = Result, #history{writes = Writes, past = Past} = H) ->
    Later = [Write || {Known, _, Write} <- Writes, Known =:= Key, in_past(Write, Node, H)],
    IsCurrent = fun(Write) ->
        not lists:any(fun(Other) -> ordsets:is_element(Write, maps:get(Other, Past)) end, Later)
    end,
    case lists:any(IsCurrent, writes(Key, Value, H)) of
        true -> ok;
        false -> violated(Node, Key, Result)
    end;
allows({read, [Node, Key]}, Result, #history{}) ->
    violated(Node, Key, Result).

settled(_Contents, _History) -> ok.

happened(Write, Node, #history{past = Past, session = Sessions} = H) ->
    Seen = ordsets:add_element(Write, ordsets:union(session(Node, H), maps:get(Write, Past))),
    H#history{session = Sessions#{Node => Seen}}.

session(Node, #history{session = Sessions}) ->
    maps:get(Node, Sessions, []).

in_past(Write, Node, #history{} = H) ->
    ordsets:is_element(Write, session(Node, H)).

writes(Key, Value, #history{writes = Writes}) ->
    [Write || {Known, Written, Write} <- Writes, Known =:= Key, Written =:= Value].

violated(Node, Key, Result) ->
    {violated,
        io_lib:format("the read of ~tp at ~ts has ~tp, which its past overwrites", [
            Key, Node, Result
        ])}.
