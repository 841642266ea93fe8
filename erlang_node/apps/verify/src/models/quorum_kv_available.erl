%%% @doc A model of {@link quorum_kv} with an incorrect assumption: every read returns the value of
%%% the most recent successful write. A node that reaches no quorum does not answer: partitions make
%%% quorums unavailable. {@link quorum_kv_strong} corrects this.
-module(quorum_kv_available).

-export([default_faults/0]).

-include("quorum_kv_model.hrl").

%% @doc Faults after which replicas still hold what they have acknowledged, and do not lie.
-spec default_faults() -> [verify_faults:kind()].
default_faults() -> [partition, delay, crash].

%% Internals.

options() -> #{}.

%% Values of the most recent successful writes.
nothing() -> #{}.

learn({write, [_Node, Key, Value]}, ok, Values) -> Values#{Key => Value};
learn(_Step, _Result, Values) -> Values.

allows({read, [_Node, Key]}, Result, Values) ->
    case Values of
        #{Key := Value} when Result =/= {ok, Value} ->
            {violated, io_lib:format("~tp is ~tp, but the read has ~tp", [Key, Value, Result])};
        #{} ->
            ok
    end.

settled(_Contents, _Values) -> ok.
