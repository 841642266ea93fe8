%%% @doc Static: configured links, redialled for ever.
%%%
%%% For given topologies, such as a ring, a tree or a backbone between sites, and for experiments
%%% that need an exact one. Every node is configured with the same edges by name and dials those it
%%% is an end of, with back-off. There is no repair: while a node is down, nodes connected only
%%% through it are partitioned.
%%%
%%% An edge counts as a neighbour on each side once that side's own link is up. The greeting sent
%%% with each dial makes the other end dial back at once, and announces a new incarnation.
-module(partisan_overlay_static).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    edges := [{partisan_peer:name(), partisan_peer:name()}],
    % Address hints of the other ends.
    peers := [partisan_peer:t()],
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    _ => _
}.

-type msg() :: hello | bye.

-export_type([options/0, msg/0]).

-record(edge, {
    peer :: partisan_peer:t(),
    up = false :: boolean(),
    failures = 0 :: non_neg_integer()
}).

%% In addition to the common fields of a layer.
-opaque state() :: #{edges := #{partisan_peer:name() => #edge{}}, _ => _}.

-export_type([state/0]).

%% API.

%% @doc Initialises the overlay. Fails with `{no_address_of, Name}' if an edge names an unknown
%% peer.
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := #{name := Self}, edges := Edges, peers := Peers} = Given) ->
    Names = lists:usort([other(Self, Edge) || Edge <- Edges, is_end(Self, Edge)]) -- [Self],
    Edge = fun(Name) -> {Name, #edge{peer = address(Name, Peers)}} end,
    Own = #{edges => maps:from_list(lists:map(Edge, Names))},
    S = partisan_layer:new(defaults(), Given, Own),
    partisan_layer:started(lists:foldl(fun dial/2, S, Names)).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{edges := Edges}) ->
    [Peer || #edge{up = true, peer = Peer} <- maps:values(Edges)].

%% @doc The other ends that are unreachable now.
-spec passive(state()) -> [partisan_peer:t()].
passive(#{edges := Edges}) ->
    [Peer || #edge{up = false, peer = Peer} <- maps:values(Edges)].

%% Events.

%% Edges are configured: no other contact is worth joining.
event({join, _Contact}, S) ->
    S;
event({message, #{name := Name} = From, hello}, #{edges := Edges} = S) ->
    case Edges of
        #{Name := Edge} -> greeted(From, Edge, S);
        #{} -> S
    end;
event({message, #{name := Name, incarnation := Incarnation}, bye}, #{edges := Edges} = S) ->
    case Edges of
        #{Name := #edge{up = true, peer = #{incarnation := Known}}} when Known =< Incarnation ->
            redial_later(Name, down(Name, neighbour_left, emit({disconnect, Name}, S)));
        #{} ->
            S
    end;
event({peer_up, #{name := Name} = Peer}, #{edges := Edges} = S) ->
    case Edges of
        #{Name := #edge{peer = Known, up = Up}} ->
            Now = partisan_peer:newest(Known, Peer),
            S1 = S#{edges := Edges#{Name := #edge{peer = Now, up = true}}},
            case Up of
                true -> S1;
                false -> partisan_layer:neighbour_up(Now, S1)
            end;
        #{} ->
            S
    end;
event({peer_down, Name, _Reason}, #{edges := Edges} = S) when is_map_key(Name, Edges) ->
    redial_later(Name, down(Name, neighbour_failed, S));
event({peer_down, _Name, _Reason}, S) ->
    S;
event({timer, {redial, Name}}, #{edges := Edges} = S) ->
    case Edges of
        #{Name := #edge{up = false}} -> dial(Name, S);
        #{} -> S
    end;
event(leave, S0) ->
    S1 = partisan_layer:part(neighbours(S0), bye, S0),
    S1#{edges := #{}}.

%% Internals.

is_end(Name, {A, B}) ->
    A =:= Name orelse B =:= Name.

other(Name, {Name, Other}) -> Other;
other(Name, {Other, Name}) -> Other.

address(Name, Peers) ->
    case [Peer || #{name := N} = Peer <- Peers, N =:= Name] of
        [Peer | _] -> Peer;
        [] -> error({no_address_of, Name})
    end.

dial(Name, #{edges := Edges} = S) ->
    #{Name := #edge{peer = Peer}} = Edges,
    emit({send, Peer, hello}, emit({connect, Peer}, S)).

%% The other end is alive: a link to a previous incarnation is void, and one that waits for a redial
%% can be tried now.
greeted(#{name := Name} = From, #edge{peer = Known, up = Up} = Edge, #{edges := Edges} = S) ->
    Newer = partisan_peer:supersedes(From, Known),
    S1 = S#{edges := Edges#{Name := Edge#edge{peer = partisan_peer:newest(Known, From)}}},
    case {Up, Newer} of
        {true, true} when map_get(incarnation, Known) > 0 ->
            connect(Name, down(Name, neighbour_failed, emit({disconnect, Name}, S1)));
        {true, _} ->
            S1;
        {false, _} ->
            connect(Name, S1)
    end.

connect(Name, #{edges := Edges} = S) ->
    #{Name := #edge{peer = Peer}} = Edges,
    emit({connect, Peer}, S).

down(Name, Why, #{edges := Edges} = S) ->
    case Edges of
        #{Name := #edge{up = true} = Edge} ->
            Down = S#{edges := Edges#{Name := Edge#edge{up = false}}},
            partisan_layer:neighbour_down(Name, Why, Down);
        #{} ->
            S
    end.

redial_later(Name, #{edges := Edges} = S) ->
    #{Name := #edge{failures = Failures} = Edge} = Edges,
    Redial = {start_timer, {redial, Name}, partisan_layer:backoff(Failures, S)},
    emit(Redial, S#{edges := Edges#{Name := Edge#edge{failures = Failures + 1}}}).

defaults() ->
    #{redial_delay => 500, redial_max => 30000}.
