%%% @doc Full mesh: every node is a neighbour of every other.
%%%
%%% Forming costs one hello per link and direction: a joiner asks one member for the list of all and
%%% greets each; a greeted member links back. After that, two random neighbours compare a hash once
%%% per period and exchange lists only if these differ (anti-entropy). Gossiping every change would
%%% be quadratic per join and cubic in total, which stops such a mesh at two dozen nodes.
%%%
%%% An unreachable member is redialled with back-off, since a restarted pod usually returns, and
%%% then forgotten. A list names only members its sender has met, by a link or a message. So rumours
%%% about a dead member do not circulate, while the two sides of a partition that forgot each other
%%% merge as soon as one link joins them.
%%%
%%% Departures are remembered by incarnation and spread with the lists: a late list cannot bring a
%%% departed member back, but a restarted one is welcome. They are forgotten once no member can
%%% still list the departed one.
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
    % Period of hash comparisons; also the delay of one after the membership changed.
    exchange_interval => pos_integer(),
    exchange_soon => pos_integer(),
    % Redials of an unreachable member before it is considered departed.
    redials => non_neg_integer(),
    % Delay of the first redial; it doubles up to `redial_max'.
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    % How long a departure is remembered: longer than all redials together.
    departure_kept => pos_integer(),
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
    % Whether it had a link or sent a message. Others hear of it only then.
    met = false :: boolean(),
    dialled = 0 :: non_neg_integer()
}).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    members := #{partisan_peer:name() => #member{}},
    departed := departed(),
    % The next comparison has been brought forward.
    hurried := boolean(),
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(Given) ->
    Own = #{members => #{}, departed => #{}, hurried => false},
    partisan_layer:started(start_exchange(partisan_layer:new(defaults(), Given, Own))).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{members := Members}) ->
    [Peer || #member{peer = Peer, status = up} <- maps:values(Members)].

%% @doc Members that are unreachable now.
-spec passive(state()) -> [partisan_peer:t()].
passive(#{members := Members}) ->
    [Peer || #member{peer = Peer, status = down} <- maps:values(Members)].

%% Events.

event({join, Contact}, S) ->
    emit({send, Contact, join}, S);
event({message, From, Msg}, S) ->
    message(Msg, From, S);
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
event({timer, {departed, Name}}, #{departed := Departed} = S) ->
    S#{departed := maps:remove(Name, Departed)};
event(leave, S0) ->
    S1 = partisan_layer:part(neighbours(S0), bye, S0),
    S1#{members := #{}}.

%% Messages.

message(join, From, S0) ->
    S1 = meet(From, S0),
    emit({send, From, members(final, S1)}, S1);
message(hello, From, S) ->
    meet(From, S);
message({digest, Hash}, From, S0) ->
    % A digest comes from a peer that counts us as a neighbour, so it is a greeting too.
    S1 = meet(From, S0),
    case digest(S1) of
        Hash -> S1;
        _ -> emit({send, From, members(reply, S1)}, S1)
    end;
message({members, Kind, Peers, Departed}, From, S0) ->
    S1 = lists:foldl(fun learn/2, depart_all(Departed, meet(From, S0)), Peers),
    case Kind of
        reply -> emit({send, From, members(final, S1)}, S1);
        final -> S1
    end;
message(bye, #{name := Name, incarnation := Incarnation}, S) ->
    depart(Name, Incarnation, S).

%% Internals: membership.

%% A message from a member itself.
meet(#{name := Name} = From, S0) ->
    S1 = learn(From, S0),
    case map_get(members, S1) of
        #{Name := Member} -> met(Member, S1);
        #{} -> S1
    end.

met(#member{met = true}, S) ->
    S;
met(#member{peer = #{name := Name}} = Member, #{members := Members} = S) ->
    hurry(S#{members := Members#{Name := Member#member{met = true}}}).

%% A description of a member, from itself or another: dial it if new.
learn(#{name := Name, incarnation := Incarnation} = Peer, #{departed := Departed} = S) ->
    case map_get(members, S) of
        _ when Incarnation =< map_get(Name, Departed) ->
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
    emit({send, Peer, hello}, emit({connect, Peer}, S1)).

up(#{name := Name} = Peer, #{members := Members} = S0) ->
    #{Name := #member{status = Status} = Member} = Members,
    Up = Member#member{peer = Peer, status = up, dialled = 0},
    S1 = met(Up, S0#{members := Members#{Name := Up}}),
    case Status of
        up -> S1;
        down -> partisan_layer:neighbour_up(Peer, S1)
    end.

down(#member{status = up, peer = #{name := Name}}, S) ->
    emit({disconnect, Name}, emit({neighbour_down, Name}, S));
down(#member{status = down, peer = #{name := Name}}, S) ->
    % It may be in the middle of a dial: a pin that outlives its member would block the next one.
    emit({disconnect, Name}, S).

unreachable(#member{peer = #{name := Name}, status = Status, dialled = Dialled} = Member, S0) ->
    S1 =
        case Status of
            up -> partisan_layer:neighbour_down(Name, neighbour_failed, S0);
            down -> S0
        end,
    #{members := Members} = S1,
    case Dialled < option(redials, S1) of
        true ->
            Lost = Member#member{status = down, dialled = Dialled + 1},
            Redial = {start_timer, {redial, Name}, partisan_layer:backoff(Dialled, S1)},
            emit(Redial, S1#{members := Members#{Name := Lost}});
        false ->
            S1#{members := maps:remove(Name, Members)}
    end.

depart_all(Departed, S) ->
    maps:fold(fun depart/3, S, Departed).

%% Only a departure of a current member is remembered; otherwise two nodes that forget it at
%% different times would remind each other for ever.
depart(Name, Incarnation, #{members := Members, departed := Departed} = S0) ->
    case Members of
        #{Name := #member{peer = #{incarnation := Known}} = Member} when Known =< Incarnation ->
            S1 = S0#{
                members := maps:remove(Name, Members), departed := Departed#{Name => Incarnation}
            },
            S2 = emit({start_timer, {departed, Name}, option(departure_kept, S1)}, S1),
            emit({count, neighbour_left}, down(Member, S2));
        #{} ->
            S0
    end.

members(Kind, #{departed := Departed} = S) ->
    {members, Kind, all_met(S), Departed}.

%% Equal on two members if and only if they have met the same incarnations of the same names.
digest(S) ->
    Met = [{Name, Incarnation} || #{name := Name, incarnation := Incarnation} <- all_met(S)],
    erlang:phash2(lists:sort(Met), 1 bsl 32).

all_met(#{self := Self, members := Members}) ->
    [Self | [Peer || #member{peer = Peer, met = true} <- maps:values(Members)]].

%% Internals: time, options.

%% News is compared soon, so it crosses a forming mesh in time logarithmic in its size.
hurry(#{hurried := true} = S) ->
    S;
hurry(S) ->
    Soon = option(exchange_soon, S),
    partisan_layer:start_timer_within(exchange, Soon, S#{hurried := true}).

start_exchange(S0) ->
    % Between half an interval and one and a half, so that members do not synchronise.
    Interval = option(exchange_interval, S0),
    {Jitter, S1} = uniform(Interval, S0),
    emit({start_timer, exchange, Interval div 2 + Jitter}, S1).

defaults() ->
    #{
        exchange_interval => 5000,
        exchange_soon => 500,
        redials => 10,
        redial_delay => 500,
        redial_max => 30000,
        departure_kept => 600000
    }.
