%%% @doc Receives a ring's messages from other nodes and passes them on to seats and requests.
%%%
%%% It never blocks, so that a seat that waits for room on a connection cannot make another node
%%% wait for this one. Messages of an incarnation that is over are dropped; the first one of a new
%%% incarnation goes through {@link ring_manager}, which informs the seats first.
-module(ring_inlet).
-behaviour(gen_server).

-export([start_link/1]).
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% @doc Starts the process, registered under the name of the ring.
-spec start_link(ring_table:ring()) -> gen_server:start_ret().
start_link(Ring) ->
    gen_server:start_link({local, Ring}, ?MODULE, Ring, []).

%% gen_server.

%% @private
-spec init(ring_table:ring()) -> {ok, ring_table:ring()}.
init(Ring) ->
    process_flag(message_queue_data, off_heap),
    {ok, Ring}.

%% @private
-spec handle_call(term(), gen_server:from(), ring_table:ring()) -> {reply, term(), atom()}.
handle_call(Unknown, _From, Ring) ->
    {reply, partisan_stray:call(Unknown), Ring}.

%% @private
-spec handle_cast(term(), ring_table:ring()) -> {noreply, ring_table:ring()}.
handle_cast(Unknown, Ring) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Ring}.

%% @private
-spec handle_info(term(), ring_table:ring()) -> {noreply, ring_table:ring()}.
handle_info({ring, From, FromStart, ToStart, Payload}, Ring) when
    is_binary(From), is_integer(FromStart), is_integer(ToStart)
->
    ok =
        case {is_payload(Payload), ToStart =:= 0 orelse ToStart =:= ring_table:start(Ring)} of
            {true, true} -> received(From, FromStart, Payload, Ring);
            {true, false} -> ok;
            {false, _} -> partisan_stray:message(Payload)
        end,
    {noreply, Ring};
handle_info(Unknown, Ring) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Ring}.

%% Internals.

%% Of what this node knows: another one would end the manager, and with it all seats.
is_payload({request, _, _, _, _, _}) -> true;
is_payload({answer, _, _, _, _}) -> true;
is_payload({seat, _, _}) -> true;
is_payload({digest, _}) -> true;
is_payload({blocks, _, _}) -> true;
is_payload({state, _, _}) -> true;
is_payload(_) -> false.

received(From, Start, Payload, Ring) ->
    case ring_table:incarnation(Ring, From) of
        {ok, Later} when Later > Start ->
            ok;
        {ok, Start} ->
            case ring_table:is_lost(Ring, From) of
                true -> ring_manager:met(Ring, From, Start, Payload);
                false -> ring_wire:deliver(Ring, From, Start, Payload)
            end;
        _NewOrUnknown ->
            ring_manager:met(Ring, From, Start, Payload)
    end.
