%%% @doc Registers as a sequence of requests shows them, if they are atomic (Lamport, "On
%%% interprocess communication", 1986; linearizability of Herlihy and Wing, 1990).
%%%
%%% Requests do not overlap, except with writes that timed out: such a write may take effect at any
%%% time after it, once, or never. So a key has several possible states: a value, and the writes
%%% that may still take effect.
-module(quorum_kv_register).

-export([new/0]).
-export([learn/3]).
-export([allows/3]).

-type key() :: quorum_kv_commands:key().
-type state() :: {Result :: {ok, integer()} | not_found, Pending :: [integer()]}.

-opaque t() :: #{key() => [state(), ...]}.
-export_type([t/0]).

%% @doc No key has a value.
-spec new() -> t().
new() ->
    #{}.

%% @doc After a step. A read with a value that is not allowed changes nothing.
-spec learn(verify_model:step(), verify_model:result(), t()) -> t().
learn({write, [_Node, Key, Value]}, ok, Registers) ->
    % Those that are pending may have taken effect before: nothing would show it.
    store(Key, [{{ok, Value}, Pending} || {_, Pending} <- states(Key, Registers)], Registers);
learn({write, [_Node, Key, Value]}, _Timeout, Registers) ->
    States = [{Now, lists:sort([Value | Pending])} || {Now, Pending} <- states(Key, Registers)],
    store(Key, States, Registers);
learn({read, [_Node, Key]}, Result, Registers) ->
    case read(Result, states(Key, Registers)) of
        [] -> Registers;
        States -> store(Key, States, Registers)
    end;
learn(_Step, _Result, Registers) ->
    Registers.

%% @doc Whether a read may have this result.
-spec allows(verify_model:command(), verify_model:result(), t()) -> ok | {violated, iodata()}.
allows(_Read, {error, timeout}, _Registers) ->
    ok;
allows({read, [_Node, Key]}, Result, Registers) ->
    States = states(Key, Registers),
    case read(Result, States) of
        [] ->
            Values = [Now || {Now, _} <- States] ++
                [{ok, Value} || {_, Pending} <- States, Value <- Pending],
            Arguments = [Key, lists:usort(Values), Result],
            {violated, io_lib:format("~tp is one of ~tp, but the read has ~tp", Arguments)};
        _ ->
            ok
    end.

%% Internals.

states(Key, Registers) ->
    maps:get(Key, Registers, [{not_found, []}]).

store(Key, States, Registers) ->
    Registers#{Key => lists:usort(States)}.

%% The states in which a read can have left the register with this result.
read({error, timeout}, States) ->
    States;
read(Result, States) ->
    [State || {Now, _} = State <- States, Now =:= Result] ++
        [
            {Result, lists:delete(Value, Pending)}
         || {ok, Value} <- [Result], {_, Pending} <- States, lists:member(Value, Pending)
        ].
