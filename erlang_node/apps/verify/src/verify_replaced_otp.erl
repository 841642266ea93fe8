%%% @doc The calls of OTP's modules that a hosted process makes instead of the originals
%%% ({@link verify_replaced}): `Module_Function' for `Module:Function'.
-module(verify_replaced_otp).

-export([os_timestamp/0]).
-export([os_system_time/0]).
-export([os_system_time/1]).
-export([timer_send_after/2]).
-export([timer_send_after/3]).
-export([timer_send_interval/2]).
-export([timer_send_interval/3]).
-export([timer_cancel/1]).
-export([gen_server_reply/2]).
-export([gen_server_cast/2]).
-export([gen_server_abcast/2]).
-export([gen_server_abcast/3]).
-export([gen_statem_reply/1]).
-export([gen_statem_reply/2]).
-export([gen_statem_cast/2]).
-export([rand_seed/1]).
-export([rand_seed_s/1]).
-export([crypto_strong_rand_bytes/1]).
-export([persistent_term_get/1]).
-export([persistent_term_get/2]).
-export([persistent_term_put/2]).
-export([persistent_term_erase/1]).

-type destination() :: verify_replaced:destination().
-type from() :: {pid(), Ref :: term()}.

%% @private
-spec os_timestamp() -> erlang:timestamp().
os_timestamp() -> verify_replaced:timestamp().

%% @private
-spec os_system_time() -> non_neg_integer().
os_system_time() -> verify_replaced:system_time().

%% @private
-spec os_system_time(erlang:time_unit()) -> non_neg_integer().
os_system_time(Unit) -> verify_replaced:system_time(Unit).

%% @private
-spec timer_send_after(integer(), Msg :: term()) -> {ok, reference()}.
timer_send_after(Milliseconds, Msg) ->
    timer_send_after(Milliseconds, verify_replaced:self(), Msg).

%% @private
-spec timer_send_after(integer(), destination(), Msg :: term()) -> {ok, reference()}.
timer_send_after(Milliseconds, Destination, Msg) ->
    {ok, verify_replaced:send_after(Milliseconds, Destination, Msg)}.

%% @private
-spec timer_send_interval(integer(), Msg :: term()) -> {ok, reference()}.
timer_send_interval(Milliseconds, Msg) ->
    timer_send_interval(Milliseconds, verify_replaced:self(), Msg).

%% @private
-spec timer_send_interval(integer(), destination(), Msg :: term()) -> {ok, reference()}.
timer_send_interval(Every, Destination, Msg) ->
    {ok, verify_replaced:start_timer(Every, Destination, Msg, fun(_) -> Msg end, Every)}.

%% @private
-spec timer_cancel(reference()) -> {ok, cancel}.
timer_cancel(Reference) ->
    _ = verify_replaced:cancel_timer(Reference),
    {ok, cancel}.

%% @private
-spec gen_server_reply(from(), Answer :: term()) -> ok.
gen_server_reply({_Client, Ref}, Answer) -> verify_effects:effect({reply, Ref, Answer}).

%% @private
-spec gen_server_cast(destination(), Request :: term()) -> ok.
gen_server_cast(Destination, Request) ->
    _ = verify_effects:send(Destination, {'$gen_cast', Request}),
    ok.

%% @private
-spec gen_server_abcast(Name :: atom(), Request :: term()) -> abcast.
gen_server_abcast(Name, Request) ->
    gen_server_abcast(verify_replaced:nodes(known), Name, Request).

%% @private
-spec gen_server_abcast([node()], Name :: atom(), Request :: term()) -> abcast.
gen_server_abcast(Nodes, Name, Request) ->
    lists:foreach(fun(Node) -> gen_server_cast({Name, Node}, Request) end, Nodes),
    abcast.

%% @private
-spec gen_statem_reply(Reply | [Reply]) -> ok when Reply :: {reply, from(), Answer :: term()}.
gen_statem_reply({reply, From, Answer}) -> gen_server_reply(From, Answer);
gen_statem_reply(Replies) -> lists:foreach(fun gen_statem_reply/1, Replies).

%% @private
-spec gen_statem_reply(from(), Answer :: term()) -> ok.
gen_statem_reply(From, Answer) -> gen_server_reply(From, Answer).

%% @private
-spec gen_statem_cast(destination(), Request :: term()) -> ok.
gen_statem_cast(Destination, Request) -> gen_server_cast(Destination, Request).

%% @private
-spec rand_seed(Algorithm :: atom() | term()) -> rand:state().
rand_seed(AlgorithmOrState) -> rand:seed(rand_seed_s(AlgorithmOrState)).

%% @private
-spec rand_seed_s(Algorithm :: atom() | term()) -> rand:state().
rand_seed_s(default) -> rand_seed_s(exsss);
rand_seed_s(Algorithm) when is_atom(Algorithm) -> rand:seed_s(Algorithm, verify_effects:seed());
rand_seed_s(State) -> rand:seed_s(State).

%% @private
-spec crypto_strong_rand_bytes(non_neg_integer()) -> binary().
crypto_strong_rand_bytes(Count) -> rand:bytes(Count).

%% @private What the process has put itself, else what is constant in this virtual machine.
-spec persistent_term_get(term()) -> term().
persistent_term_get(Key) ->
    case verify_effects:table(terms) of
        #{Key := Value} -> Value;
        #{} -> persistent_term:get(Key)
    end.

%% @private
-spec persistent_term_get(term(), Default :: term()) -> term().
persistent_term_get(Key, Default) ->
    case verify_effects:table(terms) of
        #{Key := Value} -> Value;
        #{} -> persistent_term:get(Key, Default)
    end.

%% @private
-spec persistent_term_put(term(), term()) -> ok.
persistent_term_put(Key, Value) ->
    verify_effects:set_table(terms, (verify_effects:table(terms))#{Key => Value}).

%% @private
-spec persistent_term_erase(term()) -> boolean().
persistent_term_erase(Key) ->
    Table = verify_effects:table(terms),
    ok = verify_effects:set_table(terms, maps:remove(Key, Table)),
    is_map_key(Key, Table).
