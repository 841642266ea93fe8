%%% @doc Order and pace of join attempts: the seeds in turn, until one answers.
%%%
%%% A node without neighbours asks one seed after another, in its own random order. A seed continues
%%% until it has met every other seed once; otherwise clusters that grew around two seeds would stay
%%% separate. The interval doubles with every fourth attempt, so it stays a fraction of the time
%%% already waited: in a starting cluster the seeds are up only a moment later than most joiners.
-module(partisan_contacts).

-export([new/3]).
-export([replace/4]).
-export([meet_all/1]).
-export([met/2]).
-export([next/2]).
-export([delay/3]).
-export([rest/1]).
-export([peers/1]).

%% Attempts after which the interval doubles, and the maximum number of doublings.
-define(ATTEMPTS, 4).
-define(DOUBLINGS, 16).

-record(contacts, {
    is_seed :: boolean(),
    % Next first.
    peers :: [partisan_peer:t()],
    % Seeds that this seed has not met yet.
    unmet = [] :: [partisan_peer:name()],
    attempts = 0 :: non_neg_integer()
}).

-opaque t() :: #contacts{}.
-export_type([t/0]).

%% @doc The other seeds, in random order.
-spec new(Self :: partisan_peer:t(), Seeds :: [partisan_peer:t()], rand:state()) ->
    {t(), rand:state()}.
new(#{name := Self}, Seeds, Rand0) ->
    {Mine, Others} = lists:partition(fun(#{name := Name}) -> Name =:= Self end, Seeds),
    {Peers, Rand} = partisan_random:sample(length(Others), Others, Rand0),
    {#contacts{is_seed = Mine =/= [], peers = Peers}, Rand}.

%% @doc Replaces the seeds of a node that keeps its attempt count and has met all it had to meet.
-spec replace(Self :: partisan_peer:t(), Seeds :: [partisan_peer:t()], t(), rand:state()) ->
    {t(), rand:state()}.
replace(Self, Seeds, #contacts{attempts = Attempts}, Rand0) ->
    {Contacts, Rand} = new(Self, Seeds, Rand0),
    {Contacts#contacts{attempts = Attempts}, Rand}.

%% @doc Makes a seed meet every other seed: at the start, and again in a new overlay.
-spec meet_all(t()) -> t().
meet_all(#contacts{is_seed = true, peers = Peers} = C) ->
    C#contacts{unmet = [Name || #{name := Name} <- Peers]};
meet_all(#contacts{is_seed = false} = C) ->
    C.

%% @doc Records that a seed has been met.
-spec met(partisan_peer:t(), t()) -> t().
met(#{name := Name}, #contacts{unmet = Unmet} = C) ->
    C#contacts{unmet = lists:delete(Name, Unmet)}.

%% @doc The next seed to ask, if any.
-spec next(HasNeighbours :: boolean(), t()) -> {join, partisan_peer:t(), t()} | {idle, t()}.
next(_HasNeighbours, #contacts{peers = []} = C) ->
    {idle, C};
next(false, #contacts{peers = [Peer | Others]} = C) ->
    {join, Peer, C#contacts{peers = Others ++ [Peer]}};
next(true, #contacts{unmet = [Name | Later], peers = Peers} = C) ->
    [Peer] = [P || #{name := N} = P <- Peers, N =:= Name],
    {join, Peer, C#contacts{unmet = Later ++ [Name]}};
next(true, #contacts{unmet = []} = C) ->
    {idle, rest(C)}.

%% @doc Milliseconds until the next attempt: at least half of an interval that starts at `Shortest'
%% and grows to `Longest'.
-spec delay({Shortest :: pos_integer(), Longest :: pos_integer()}, t(), rand:state()) ->
    {pos_integer(), t(), rand:state()}.
delay({Shortest, Longest}, #contacts{attempts = Attempts} = C, Rand0) ->
    Interval = min(Shortest bsl min(Attempts div ?ATTEMPTS, ?DOUBLINGS), Longest),
    {Chance, Rand} = rand:uniform_s(Interval, Rand0),
    {(Interval + Chance) div 2, C#contacts{attempts = Attempts + 1}, Rand}.

%% @doc Restarts the back-off.
-spec rest(t()) -> t().
rest(C) ->
    C#contacts{attempts = 0}.

%% @doc The seeds other than this node.
-spec peers(t()) -> [partisan_peer:t()].
peers(#contacts{peers = Peers}) ->
    Peers.
