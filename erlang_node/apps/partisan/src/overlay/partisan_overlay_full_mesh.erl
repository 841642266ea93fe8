%%% @doc Full mesh: everyone is everyone's neighbour.
%%%
%%% Forming costs each link one hello in each direction and no more. A joiner asks one member for
%%% the list of all and greets each; whoever is greeted links back. Lists travel again only where
%%% two members find, by comparing a hash once per period with one random neighbour, that theirs
%%% differ (anti-entropy). Nobody gossips to all because somebody's state changed: that is
%%% quadratic per join and cubic in all, and is what stops such a mesh at two dozen nodes.
%%%
%%% A member that cannot be reached stays a member for a while and is dialled again at growing
%%% intervals, since a restarted pod usually comes back. Departures are remembered by incarnation
%%% and spread with the lists, so that a late list cannot bring a departed member back while its
%%% successor is welcome. Whom we gave up on our own we ignore in other members' lists until it
%%% speaks to us itself: a verdict of ours is no proof for others.
-module(partisan_overlay_full_mesh).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2, option/2, is_self/2, pick/2, uniform/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % The period of comparing hashes, and the wait for it after the membership changed.
    exchange_interval => pos_integer(),
    exchange_soon => pos_integer(),
    % How often an unreachable member is dialled again before it counts as departed.
    redials => non_neg_integer(),
    % Delay of the first redial; it doubles up to `redial_max'.
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    _ => _
}.

-type departed() :: #{partisan_peer:name() => partisan_peer:incarnation()}.

-type msg() ::
    join
    | hello
    | bye
    | {digest, Hash :: non_neg_integer()}
    | {members, reply | final, [partisan_peer:t()], departed()}.

-export_type([options/0, msg/0]).

-record(member, {
    peer :: partisan_peer:t(),
    status = down :: up | down,
    dialled = 0 :: non_neg_integer()
}).

%% Beside what every layer has.
-opaque state() :: #{
    members := #{partisan_peer:name() => #member{}},
    departed := departed(),
    given_up := departed(),
    % Hashes are to be compared soon.
    hurried := boolean(),
    _ => _
}.

-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(Given) ->
    Own = #{members => #{}, departed => #{}, given_up => #{}, hurried => false},
    partisan_layer:started(start_exchange(partisan_layer:new(defaults(), Given, Own))).

-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{members := Members}) ->
    [Peer || #member{peer = Peer, status = up} <- maps:values(Members)].

%% @doc Members that are not reachable now.
-spec passive(state()) -> [partisan_peer:t()].
passive(#{members := Members}) ->
    [Peer || #member{peer = Peer, status = down} <- maps:values(Members)].

%% Events.

event({join, Contact}, S) ->
    emit({send, Contact, join}, S);
event({message, #{name := Name} = From, Msg}, #{given_up := GivenUp} = S) ->
    message(Msg, From, S#{given_up := maps:remove(Name, GivenUp)});
event({peer_up, #{name := Name} = Peer}, S) ->
    case map_get(members, S) of
        #{Name := #member{peer = Known}} -> up(partisan_peer:newest(Known, Peer), S);
        #{} -> S
    end;
event({peer_down, Name, _Reason}, S) ->
    case map_get(members, S) of
        #{Name := Member} -> unreachable(Member, S);
        #{} -> S
    end;
event({timer, exchange}, S0) ->
    S1 =
        case neighbours(S0) of
            [] ->
                S0;
            Neighbours ->
                {Peer, S} = pick(Neighbours, S0),
                emit({send, Peer, {digest, digest(S)}}, S)
        end,
    start_exchange(S1#{hurried := false});
event({timer, {redial, Name}}, S) ->
    case map_get(members, S) of
        #{Name := #member{peer = Peer, status = down}} -> emit({connect, Peer}, S);
        #{} -> S
    end;
event(leave, S0) ->
    S1 = partisan_layer:part(neighbours(S0), bye, S0),
    S1#{members := #{}}.

%% Messages.

message(join, From, S0) ->
    S1 = learn(From, S0),
    emit({send, From, members(final, S1)}, S1);
message(hello, From, S) ->
    learn(From, S);
message({digest, Hash}, From, S0) ->
    % A digest comes from one who counts us as a neighbour: it is a greeting too.
    S1 = learn(From, S0),
    case digest(S1) of
        Hash -> S1;
        _ -> emit({send, From, members(reply, S1)}, S1)
    end;
message({members, Kind, Peers, Departed}, From, S0) ->
    S1 = lists:foldl(fun learn/2, depart_all(Departed, learn(From, S0)), Peers),
    case Kind of
        reply -> emit({send, From, members(final, S1)}, S1);
        final -> S1
    end;
message(bye, #{name := Name, incarnation := Incarnation}, S) ->
    depart(Name, Incarnation, S).

%% Internals: membership.

%% A description of a member, from itself or from hearsay: dial it if it is new to us.
learn(#{name := Name, incarnation := Incarnation} = Peer, S) ->
    Gone = max(maps:get(Name, map_get(departed, S), -1), maps:get(Name, map_get(given_up, S), -1)),
    case map_get(members, S) of
        _ when Incarnation =< Gone ->
            S;
        #{Name := #member{peer = Known} = Member} ->
            case partisan_peer:supersedes(Peer, Known) of
                true -> dial(Peer, down(Member, S));
                false -> S
            end;
        #{} ->
            case is_self(Peer, S) of
                true -> S;
                false -> dial(Peer, S)
            end
    end.

dial(#{name := Name} = Peer, #{members := Members} = S0) ->
    S1 = S0#{members := Members#{Name => #member{peer = Peer}}},
    hurry(emit({send, Peer, hello}, emit({connect, Peer}, S1))).

up(#{name := Name} = Peer, #{members := Members} = S0) ->
    #{Name := #member{status = Status}} = Members,
    S1 = S0#{members := Members#{Name := #member{peer = Peer, status = up}}},
    case Status of
        up -> S1;
        down -> partisan_layer:neighbour_up(Peer, S1)
    end.

down(#member{status = up, peer = #{name := Name}}, S) ->
    emit({disconnect, Name}, emit({neighbour_down, Name}, S));
down(#member{status = down, peer = #{name := Name}}, S) ->
    % It may be being dialled: a pin that outlived its member would keep the next one from being.
    emit({disconnect, Name}, S).

unreachable(#member{peer = #{name := Name} = Peer, status = Status, dialled = Dialled}, S0) ->
    S1 =
        case Status of
            up -> partisan_layer:neighbour_down(Name, neighbour_failed, S0);
            down -> S0
        end,
    #{members := Members, given_up := GivenUp} = S1,
    case Dialled < option(redials, S1) of
        true ->
            Member = #member{peer = Peer, dialled = Dialled + 1},
            Redial = {start_timer, {redial, Name}, partisan_layer:backoff(Dialled, S1)},
            emit(Redial, S1#{members := Members#{Name := Member}});
        false ->
            S1#{
                members := maps:remove(Name, Members),
                given_up := GivenUp#{Name => maps:get(incarnation, Peer)}
            }
    end.

depart_all(Departed, S) ->
    maps:fold(fun depart/3, S, Departed).

depart(Name, Incarnation, #{departed := Departed0} = S0) ->
    Departed = maps:update_with(Name, fun(I) -> max(I, Incarnation) end, Incarnation, Departed0),
    S1 = S0#{departed := Departed},
    case map_get(members, S1) of
        #{Name := #member{peer = #{incarnation := Known}} = Member} when Known =< Incarnation ->
            S2 = down(Member, S1#{members := maps:remove(Name, map_get(members, S1))}),
            emit({count, neighbour_left}, S2);
        #{} ->
            S1
    end.

members(Kind, #{self := Self, members := Members, departed := Departed}) ->
    {members, Kind, [Self | [Peer || #member{peer = Peer} <- maps:values(Members)]], Departed}.

%% Equal on two members exactly when they know the same lives of the same names.
digest(#{self := Self, members := Members, departed := Departed}) ->
    Known = [Self | [Peer || #member{peer = Peer} <- maps:values(Members)]],
    Lives = lists:sort([{Name, I} || #{name := Name, incarnation := I} <- Known]),
    erlang:phash2({Lives, lists:sort(maps:to_list(Departed))}, 1 bsl 32).

%% Internals: time, options.

%% News is compared soon: that carries it through a forming mesh in a logarithm of its size.
hurry(#{hurried := true} = S) ->
    S;
hurry(S) ->
    Soon = option(exchange_soon, S),
    partisan_layer:start_timer_within(exchange, Soon, S#{hurried := true}).

start_exchange(S0) ->
    % Between half an interval and one and a half, so that members do not fall into step.
    Interval = option(exchange_interval, S0),
    {Jitter, S1} = uniform(Interval, S0),
    emit({start_timer, exchange, Interval div 2 + Jitter}, S1).

defaults() ->
    #{
        exchange_interval => 5000,
        exchange_soon => 500,
        redials => 10,
        redial_delay => 500,
        redial_max => 30000
    }.
