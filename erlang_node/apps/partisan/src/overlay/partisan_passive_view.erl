%%% @doc HyParView's passive view: a bounded set of spares.
%%%
%%% A full view evicts a random spare for each newcomer, but first those just sent to another node
%%% in a shuffle (section 4.4 of the paper cited in {@link partisan_overlay_hyparview}): that node
%%% knows them, so nothing is lost.
-module(partisan_passive_view).

-export([new/1]).
-export([add/4]).
-export([remove/2]).
-export([peers/1]).
-export([except/2]).

-record(view, {
    max :: pos_integer(),
    peers = #{} :: #{partisan_peer:name() => partisan_peer:t()}
}).

-opaque t() :: #view{}.
-export_type([t/0]).

%% @doc An empty view of at most that many peers.
-spec new(pos_integer()) -> t().
new(Max) ->
    #view{max = Max}.

%% @doc Adds a peer or updates what is known of it. `GoFirst' names the first to evict if there is
%% no room.
-spec add(partisan_peer:t(), GoFirst :: [partisan_peer:name()], t(), rand:state()) ->
    {t(), rand:state()}.
add(#{name := Name} = Peer, GoFirst, #view{peers = Peers} = V, Rand0) ->
    case Peers of
        #{Name := Known} ->
            {V#view{peers = Peers#{Name := partisan_peer:newest(Known, Peer)}}, Rand0};
        #{} ->
            {#view{peers = Others} = Roomy, Rand} = make_room(GoFirst, V, Rand0),
            {Roomy#view{peers = Others#{Name => Peer}}, Rand}
    end.

%% @doc Removes a peer.
-spec remove(partisan_peer:name(), t()) -> t().
remove(Name, #view{peers = Peers} = V) ->
    V#view{peers = maps:remove(Name, Peers)}.

%% @doc The peers in the view.
-spec peers(t()) -> [partisan_peer:t()].
peers(#view{peers = Peers}) ->
    maps:values(Peers).

%% @doc The peers that are not keys of this map.
-spec except(#{partisan_peer:name() => _}, t()) -> [partisan_peer:t()].
except(Names, #view{peers = Peers}) ->
    maps:values(maps:without(maps:keys(Names), Peers)).

make_room(_GoFirst, #view{max = Max, peers = Peers} = V, Rand) when map_size(Peers) < Max ->
    {V, Rand};
make_room(GoFirst, #view{peers = Peers} = V, Rand0) ->
    {Name, Rand} =
        case [Name || Name <- GoFirst, is_map_key(Name, Peers)] of
            [First | _] -> {First, Rand0};
            [] -> partisan_random:pick(maps:keys(Peers), Rand0)
        end,
    {remove(Name, V), Rand}.
