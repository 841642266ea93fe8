%%% @doc A model of {@link quorum_kv} that corrects {@link quorum_kv_available}, since requests may
%%% time out, and has an incorrect assumption still: a write that timed out has not happened. It may
%%% have reached replicas, and is visible when they answer. {@link quorum_kv_honest} corrects this.
-module(quorum_kv_strong).

-export([default_faults/0]).

-include("quorum_kv_model.hrl").

%% @doc Faults after which replicas still hold what they have acknowledged, and do not lie.
-spec default_faults() -> [verify_faults:kind()].
default_faults() -> [partition, delay, crash].

%% Internals.

options() -> #{}.

%% Values of the most recent successful writes.
nothing() -> #{}.

learn({write, [_Node, Key, Value]}, ok, Values) -> Values#{Key => {ok, Value}};
learn(_Step, _Result, Values) -> Values.

allows(_Read, {error, timeout}, _Values) ->
    ok;
allows({read, [_Node, Key]}, Result, Values) ->
    case maps:get(Key, Values, not_found) of
        Result ->
            ok;
        Expected ->
            Arguments = [Key, Expected, Result],
            {violated, io_lib:format("~tp is ~tp, but the read has ~tp", Arguments)}
    end.

settled(_Contents, _Values) -> ok.
