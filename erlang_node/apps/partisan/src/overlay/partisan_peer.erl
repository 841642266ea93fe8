%%% @doc A peer: a member's stable name, its address and its incarnation.
%%%
%%% A name such as `<<"ads-17">>' outlives restarts; the incarnation distinguishes them. Of two
%%% descriptions of one name the higher incarnation wins, so a restarted pod replaces its previous
%%% incarnation and never becomes a ghost next to it. Incarnation 0 means "not known yet": the
%%% address hint of a seed.
-module(partisan_peer).

-export([new/3]).
-export([new/4]).
-export([name/1]).
-export([incarnation/1]).
-export([supersedes/2]).
-export([newest/2]).
-export([without/2]).

-type name() :: binary().
-type incarnation() :: non_neg_integer().
-type t() :: #{
    name := name(),
    host := inet:ip_address() | string(),
    port := inet:port_number(),
    incarnation := incarnation()
}.

-export_type([t/0, name/0, incarnation/0]).

%% @doc A peer known by its address hint only.
-spec new(name(), inet:ip_address() | string(), inet:port_number()) -> t().
new(Name, Host, Port) ->
    new(Name, Host, Port, 0).

%% @doc A peer of a known incarnation.
-spec new(name(), inet:ip_address() | string(), inet:port_number(), incarnation()) -> t().
new(Name, Host, Port, Incarnation) ->
    #{name => Name, host => Host, port => Port, incarnation => Incarnation}.

%% @doc The name of a peer.
-spec name(t()) -> name().
name(#{name := Name}) ->
    Name.

%% @doc The incarnation of a peer, 0 where only an address hint is known.
-spec incarnation(t()) -> incarnation().
incarnation(#{incarnation := Incarnation}) ->
    Incarnation.

%% @doc Whether the first description replaces the second. Both must have the same name.
-spec supersedes(t(), t()) -> boolean().
supersedes(#{name := Name, incarnation := New}, #{name := Name, incarnation := Old}) ->
    New > Old.

%% @doc The newer of two descriptions of one name; the first if equally new.
-spec newest(t(), t()) -> t().
newest(A, B) ->
    case supersedes(B, A) of
        true -> B;
        false -> A
    end.

%% @doc The peers of the second list whose names are not in the first.
-spec without([t()], [t()]) -> [t()].
without(Peers, List) ->
    Names = [Name || #{name := Name} <- Peers],
    [Peer || #{name := Name} = Peer <- List, not lists:member(Name, Names)].
