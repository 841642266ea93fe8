%%% @doc The network between simulated nodes: it delays, duplicates and loses messages, and may be
%%% cut. A message is of one incarnation of its sender, for one of its receiver.
-module(ring_world_network).

-include("ring_world.hrl").

-export([send/4]).
-export([cut/2]).
-export([trap/3]).
-export([delay/2]).
-export([kind/1]).
-export([is_cut_off/3]).

-import(ring_world, [later/3, now/1, uniform/2]).

-type name() :: ring_state:member().
-type t() :: ring_world:t().

-define(CUT_DETECTION_MS, 600).

%% @doc Sends a message from a node to another one.
-spec send(name(), name(), Payload :: tuple(), t()) -> t().
send(From, To, Payload, #world{starts = Starts, options = Options} = W) ->
    #{duplicates := Duplicates} = Options,
    Event = {deliver, From, map_get(From, Starts), To, maps:get(To, Starts, 0), Payload},
    Sent = transmit(Event, kind(Payload) =:= W#world.delayed, counted(W)),
    case element(1, Payload) of
        seat ->
            case uniform(1000, Sent) of
                {I, Next} when I =< Duplicates -> transmit(Event, false, Next);
                {_, Next} -> Next
            end;
        _ ->
            Sent
    end.

%% @doc Partitions the network: nodes with different results cannot reach each other.
-spec cut(fun((name()) -> term()), t()) -> t().
cut(Side, W) ->
    W#world{side = Side, cut_at = now(W)}.

%% @doc Kills the sender or receiver of the next message of that kind, which is delivered or not.
-spec trap(Kind :: atom(), {sender | receiver, Delivered :: boolean()}, t()) -> t().
trap(Kind, {Role, Delivered}, W) ->
    W#world{trap = {Kind, Role, Delivered}}.

%% @doc Delays messages of a kind, by up to the slowest time, until another kind or `none' is given.
-spec delay(Kind :: atom(), t()) -> t().
delay(Kind, W) ->
    W#world{delayed = Kind}.

%% @doc The kind of a message, by which it is delayed or trapped.
-spec kind(Payload :: tuple()) -> atom().
kind({seat, _, {chunk, _, _, Kind, _, _}}) -> Kind;
kind({seat, _, {copied, _, _, _, _, {_, last, _}, _}}) -> copied_last;
kind({seat, _, Message}) -> element(1, Message);
kind({request, _, _, _, _, Command}) when is_tuple(Command) -> element(1, Command);
kind({answer, _, _, _, {vote, _, _, _, Reply}}) when is_tuple(Reply) -> element(1, Reply);
kind({answer, _, _, _, {vote, _, _, _, Reply}}) -> Reply;
kind({answer, _, _, _, Answer}) when is_atom(Answer) -> Answer;
kind({answer, _, _, _, Answer}) -> element(1, Answer);
kind(Payload) -> element(1, Payload).

%% @doc Whether a node has noticed that it cannot reach another one.
-spec is_cut_off(name(), name(), t()) -> boolean().
is_cut_off(From, To, #world{side = Side, cut_at = At, options = #{detects_cuts := Detects}} = W) ->
    Detects andalso Side(From) =/= Side(To) andalso now(W) - At >= ?CUT_DETECTION_MS.

%% Internals.

counted(#world{messages = Messages} = W) ->
    W#world{messages = Messages + 1}.

transmit(Event, true, #world{options = #{slowest := Slowest}} = W) ->
    later({0, Slowest}, Event, W);
transmit(Event, false, #world{options = #{delay := Delay, slow := Slow}} = W) ->
    case uniform(1000, W) of
        {I, Next} when I =< Slow -> transmit(Event, true, Next);
        {_, Next} -> later(Delay, Event, Next)
    end.
