%%% @doc Whom to ask to be joined, and when: the seeds, one after another, for as long as it takes.
%%%
%%% A node without neighbours asks one seed after another, in an order of its own. A seed goes on
%%% until it has met each other seed once, since otherwise clusters that grew around two seeds would
%%% stay two. Attempts grow rarer slowly: the interval doubles with every fourth, and so stays a
%%% fraction of the time waited; the seeds of a cluster that starts are up a moment later than most
%%% of those who look for them.
-module(partisan_contacts).

-export([new/3]).
-export([replace/4]).
-export([meet_all/1]).
-export([met/2]).
-export([next/2]).
-export([delay/3]).
-export([rest/1]).
-export([peers/1]).

%% Attempts after which the interval doubles, and how often it does.
-define(PATIENCE, 4).
-define(DOUBLINGS, 16).

-record(contacts, {
    is_seed :: boolean(),
    % The next to be asked first.
    peers :: [partisan_peer:t()],
    % Seeds that this seed has not met yet.
    unmet = [] :: [partisan_peer:name()],
    attempts = 0 :: non_neg_integer()
}).

-opaque t() :: #contacts{}.
-export_type([t/0]).

-spec new(Self :: partisan_peer:t(), Seeds :: [partisan_peer:t()], rand:state()) ->
    {t(), rand:state()}.
new(#{name := Self}, Seeds, Rand0) ->
    {Mine, Others} = lists:partition(fun(#{name := Name}) -> Name =:= Self end, Seeds),
    {Peers, Rand} = partisan_random:sample(length(Others), Others, Rand0),
    {#contacts{is_seed = Mine =/= [], peers = Peers}, Rand}.

%% @doc Other seeds, on a node that knows how often it has tried. It has met whom it had to.
-spec replace(Self :: partisan_peer:t(), Seeds :: [partisan_peer:t()], t(), rand:state()) ->
    {t(), rand:state()}.
replace(Self, Seeds, #contacts{attempts = Attempts}, Rand0) ->
    {Contacts, Rand} = new(Self, Seeds, Rand0),
    {Contacts#contacts{attempts = Attempts}, Rand}.

%% @doc From now on a seed has every other seed to meet: at the start, and again in a new overlay.
-spec meet_all(t()) -> t().
meet_all(#contacts{is_seed = true, peers = Peers} = C) ->
    C#contacts{unmet = [Name || #{name := Name} <- Peers]};
meet_all(#contacts{is_seed = false} = C) ->
    C.

-spec met(partisan_peer:t(), t()) -> t().
met(#{name := Name}, #contacts{unmet = Unmet} = C) ->
    C#contacts{unmet = lists:delete(Name, Unmet)}.

%% @doc Whom to ask now, if anybody.
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

%% @doc How long until the next attempt: at least half of an interval that begins at the first and
%% ends at the second of these, in milliseconds.
-spec delay({Shortest :: pos_integer(), Longest :: pos_integer()}, t(), rand:state()) ->
    {pos_integer(), t(), rand:state()}.
delay({Shortest, Longest}, #contacts{attempts = Attempts} = C, Rand0) ->
    Interval = min(Shortest bsl min(Attempts div ?PATIENCE, ?DOUBLINGS), Longest),
    {Chance, Rand} = rand:uniform_s(Interval, Rand0),
    {(Interval + Chance) div 2, C#contacts{attempts = Attempts + 1}, Rand}.

%% @doc The next attempt is the first again.
-spec rest(t()) -> t().
rest(C) ->
    C#contacts{attempts = 0}.

%% @doc The seeds beside this node.
-spec peers(t()) -> [partisan_peer:t()].
peers(#contacts{peers = Peers}) ->
    Peers.
