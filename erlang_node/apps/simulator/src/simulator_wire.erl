%%% @doc What the messages of simulated nodes are on the wire of pods.
%%%
%%% Simulated nodes have short names, and lives that are numbered from 1
%%% ({@link simulator_peer}). Where bytes are to be those of a cluster, a message is given names,
%%% addresses and incarnations as pods have them before it is counted.
-module(simulator_wire).

-export([new/2]).
-export([real/2]).
-export([bytes/2]).
-export([incarnation/1]).

-type index() :: simulator_peer:index().

-record(wire, {
    % Pods' names by those of simulated nodes.
    names :: #{partisan_peer:name() => partisan_peer:name()},
    % Of pods of which only that is known.
    host :: fun((partisan_peer:name()) -> string())
}).

-opaque t() :: #wire{}.
-export_type([t/0]).

-define(PORT, 7946).
%% Incarnations are microseconds since 1970: any recent moment has as many digits as another.
-define(EPOCH_US, 1795224000000000).

%% @doc The pods that simulated nodes stand for, and how the host of a seed follows from its name.
-spec new(#{index() => partisan_peer:name()}, fun((partisan_peer:name()) -> string())) -> t().
new(Names, Host) ->
    Simulated = [{simulator_peer:name(Index), Name} || {Index, Name} <- maps:to_list(Names)],
    #wire{names = maps:from_list(Simulated), host = Host}.

%% @doc A message as pods would write it.
-spec real(term(), t()) -> term().
real(#{name := Simulated, host := Host, port := _, incarnation := Life}, W) ->
    Name = map_get(Simulated, W#wire.names),
    case Life of
        0 -> partisan_peer:new(Name, (W#wire.host)(Name), ?PORT);
        _ -> partisan_peer:new(Name, Host, ?PORT, incarnation(Life))
    end;
real(Map, W) when is_map(Map) ->
    maps:from_list([{real(Key, W), real(Value, W)} || {Key, Value} <- maps:to_list(Map)]);
real(Tuple, W) when is_tuple(Tuple) ->
    list_to_tuple([real(Element, W) || Element <- tuple_to_list(Tuple)]);
real([Head | Tail], W) ->
    [real(Head, W) | real(Tail, W)];
real(Binary, #wire{names = Names}) when is_binary(Binary) ->
    maps:get(Binary, Names, Binary);
real(Other, _W) ->
    Other.

%% @doc The bytes of a message of the protocol stack, as a frame of the transport.
-spec bytes(term(), t()) -> pos_integer().
bytes(Message, W) ->
    {Bytes, _} = partisan_frame:overlay(real(Message, W)),
    Bytes.

%% @doc The incarnation of a node that started so many microseconds after the beginning of all.
-spec incarnation(non_neg_integer()) -> partisan_peer:incarnation().
incarnation(Microseconds) ->
    ?EPOCH_US + Microseconds.
