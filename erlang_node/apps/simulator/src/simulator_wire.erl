%%% @doc The wire form of simulated messages, as pods would send them.
%%%
%%% Simulated nodes have short names, and incarnations numbered from 1 ({@link simulator_peer}). To
%%% count realistic bytes, a message gets pod names, addresses and incarnations first.
-module(simulator_wire).

-export([new/2]).
-export([real/2]).
-export([bytes/2]).
-export([incarnation/1]).

-type index() :: simulator_peer:index().

-record(wire, {
    % Pod names by those of simulated nodes.
    names :: #{partisan_peer:name() => partisan_peer:name()},
    % For pods known by name only.
    host :: fun((partisan_peer:name()) -> string())
}).

-opaque t() :: #wire{}.
-export_type([t/0]).

-define(PORT, 7946).
%% Incarnations are microseconds since 1970: all recent ones have the same number of digits.
-define(EPOCH_US, 1795224000000000).

%% @doc The pods that simulated nodes stand for, and the host of a seed by its name.
-spec new(#{index() => partisan_peer:name()}, fun((partisan_peer:name()) -> string())) -> t().
new(Names, Host) ->
    Simulated = [{simulator_peer:name(Index), Name} || {Index, Name} <- maps:to_list(Names)],
    #wire{names = maps:from_list(Simulated), host = Host}.

%% @doc A message as pods would send it.
-spec real(term(), t()) -> term().
real(#{name := Simulated, host := Host, port := _, incarnation := Incarnation}, W) ->
    Name = map_get(Simulated, W#wire.names),
    case Incarnation of
        0 -> partisan_peer:new(Name, (W#wire.host)(Name), ?PORT);
        _ -> partisan_peer:new(Name, Host, ?PORT, incarnation(Incarnation))
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

%% @doc The incarnation of a node that started so many microseconds after the beginning.
-spec incarnation(non_neg_integer()) -> partisan_peer:incarnation().
incarnation(Microseconds) ->
    ?EPOCH_US + Microseconds.
