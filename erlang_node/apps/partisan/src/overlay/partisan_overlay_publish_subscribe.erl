%%% @doc Publish-subscribe: every node keeps links to the brokers, and to no other node.
%%%
%%% The links are those of {@link partisan_overlay_client_server}, with every client linked to every
%%% server: `brokers' are the servers. A lost broker is redialled for as long as it is configured.
%%%
%%% == Topics ==
%%% A topic lives at the first `replication' brokers of its rank ({@link partisan_rendezvous}) that
%%% are up; {@link partisan_brokers} has the protocol.
%%%
%%% == Inboxes ==
%%% A node's inbox is a topic of its own, with the node as its only subscriber. A message to a node
%%% goes to the first broker of its inbox that is up, which has a link to the node: two hops,
%%% without a search for a route. A broker that lacks this link hands the message to the brokers
%%% after it in rank, so no message circulates.
-module(partisan_overlay_publish_subscribe).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([next_hop/2]).
-export([brokers/1]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % Broker names; their address hints are among the seeds.
    brokers := [partisan_peer:name()],
    seeds := [partisan_peer:t()],
    % Brokers that keep the subscriptions of a topic.
    replication => pos_integer(),
    greeting_interval => pos_integer(),
    patience => pos_integer(),
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    _ => _
}.

-export_type([options/0]).

-record(publish_subscribe, {
    self :: partisan_peer:name(),
    brokers :: [partisan_peer:name()],
    replication :: pos_integer(),
    links :: partisan_overlay_client_server:state()
}).

-opaque state() :: #publish_subscribe{}.
-export_type([state/0]).

%% @doc Initialises the overlay. Fails with `{replication, Replication, Brokers}' if fewer brokers
%% than that are configured.
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := #{name := Self}, brokers := Brokers} = Given) ->
    Replication = maps:get(replication, Given, min(2, length(Brokers))),
    Replication >= 1 andalso Replication =< length(Brokers) orelse
        error({replication, Replication, Brokers}),
    Options = maps:without([brokers, replication], Given),
    {Links, Effects} = partisan_overlay_client_server:init(Options#{
        servers => Brokers, attach => all
    }),
    State = #publish_subscribe{
        self = Self, brokers = Brokers, replication = Replication, links = Links
    },
    {State, Effects}.

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, #publish_subscribe{links = Links0} = S) ->
    {Links, Effects} = partisan_overlay_client_server:handle(Event, Links0),
    {S#publish_subscribe{links = Links}, Effects}.

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#publish_subscribe{links = Links}) ->
    partisan_overlay_client_server:neighbours(Links).

%% @doc The brokers that this node has no link to.
-spec passive(state()) -> [partisan_peer:t()].
passive(#publish_subscribe{links = Links}) ->
    partisan_overlay_client_server:passive(Links).

%% @doc The broker of a node's inbox that is up: for a broker, one after itself in rank.
-spec next_hop(partisan_peer:name(), state()) -> {ok, partisan_peer:name()} | none.
next_hop(Node, #publish_subscribe{self = Self, brokers = Brokers} = S) ->
    Up = [Name || #{name := Name} <- neighbours(S)],
    Ranked = partisan_rendezvous:ranked({inbox, Node}, Brokers),
    After =
        case lists:member(Self, Brokers) of
            true -> tl(lists:dropwhile(fun(Name) -> Name =/= Self end, Ranked));
            false -> Ranked
        end,
    case [Name || Name <- After, lists:member(Name, Up)] of
        [First | _] -> {ok, First};
        [] -> none
    end.

%% @doc The brokers, and how many of them keep the subscriptions of a topic.
-spec brokers(state()) -> {[partisan_peer:name()], Replication :: pos_integer()}.
brokers(#publish_subscribe{brokers = Brokers, replication = Replication}) ->
    {Brokers, Replication}.
