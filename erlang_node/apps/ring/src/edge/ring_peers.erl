%%% @doc The other nodes of a ring, by their starts.
%%%
%%% A node is lost if the transport says so, and its previous start if it is heard of with a later
%%% one. A message from a node that was believed to be lost shows that it was not. Called by {@link
%%% ring_manager} alone.
-module(ring_peers).

-export([meet/3]).
-export([lost/2]).

%% @doc A message of a node with this start has come. `over': a later one is known.
-spec meet(ring_table:ring(), ring_state:member(), ring_table:start()) -> ok | over.
meet(Ring, Node, Start) ->
    case ring_table:peers(Ring) of
        #{Node := {Later, _}} when Later > Start ->
            over;
        #{Node := {Start, present}} ->
            ok;
        #{Node := {Before, _}} when Before =/= Start ->
            ok = inform(Ring, Node),
            present(Ring, Node, Start);
        #{} ->
            present(Ring, Node, Start)
    end.

%% @doc The transport says that a node is lost.
-spec lost(ring_table:ring(), ring_state:member()) -> ok.
lost(Ring, Node) ->
    case ring_table:incarnation(Ring, Node) of
        {ok, Start} ->
            ok = ring_table:put_peer(Ring, Node, Start, lost),
            inform(Ring, Node);
        none ->
            ok
    end.

%% Internals.

present(Ring, Node, Start) ->
    #{transport := Transport} = ring_table:options(Ring),
    ok = ring_table:put_peer(Ring, Node, Start, present),
    Transport:monitor(Node).

inform(Ring, Node) ->
    Seats = [Pid || {_, {Pid, _}} <- ring_table:seats(Ring)],
    _ = [Pid ! {lost, Node} || Pid <- Seats ++ ring_table:requests(Ring)],
    ok.
