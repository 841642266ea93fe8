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

-record(state, {
    self :: partisan_peer:t(),
    options :: options(),
    rand :: rand:state(),
    members = #{} :: #{partisan_peer:name() => #member{}},
    departed = #{} :: departed(),
    given_up = #{} :: departed(),
    hurried = false :: boolean(),
    leaving = false :: boolean(),
    out = [] :: [partisan_overlay:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := Self, seed := Seed} = Given) ->
    S = #state{
        self = Self,
        options = maps:merge(defaults(), Given),
        rand = rand:seed_s(exsss, Seed)
    },
    flush(start_exchange(S)).

-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(_Event, #state{leaving = true} = S) ->
    {S, []};
handle(Event, S) ->
    flush(event(Event, S)).

-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#state{members = Members}) ->
    [Peer || #member{peer = Peer, status = up} <- maps:values(Members)].

%% @doc Members that are not reachable now.
-spec passive(state()) -> [partisan_peer:t()].
passive(#state{members = Members}) ->
    [Peer || #member{peer = Peer, status = down} <- maps:values(Members)].

%% Events.

event({join, Contact}, S) ->
    case is_self(Contact, S) of
        true -> S;
        false -> emit({send, Contact, join}, S)
    end;
event({message, #{name := Name} = From, Msg}, #state{given_up = GivenUp} = S) ->
    case is_self(From, S) of
        true -> S;
        false -> message(Msg, From, S#state{given_up = maps:remove(Name, GivenUp)})
    end;
event({peer_up, #{name := Name} = Peer}, S) ->
    case S#state.members of
        #{Name := #member{peer = Known}} -> up(partisan_peer:newest(Known, Peer), S);
        #{} -> S
    end;
event({peer_down, Name, _Reason}, S) ->
    case S#state.members of
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
    start_exchange(S1#state{hurried = false});
event({timer, {redial, Name}}, S) ->
    case S#state.members of
        #{Name := #member{peer = Peer, status = down}} -> emit({connect, Peer}, S);
        #{} -> S
    end;
event(leave, S0) ->
    S1 = lists:foldl(
        fun(#{name := Name} = Peer, S) ->
            emit({disconnect, Name}, emit({neighbour_down, Name}, emit({send, Peer, bye}, S)))
        end,
        S0,
        neighbours(S0)
    ),
    S1#state{members = #{}, leaving = true}.

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
    Gone = max(maps:get(Name, S#state.departed, -1), maps:get(Name, S#state.given_up, -1)),
    case S#state.members of
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

dial(#{name := Name} = Peer, #state{members = Members} = S0) ->
    S1 = S0#state{members = Members#{Name => #member{peer = Peer}}},
    hurry(emit({send, Peer, hello}, emit({connect, Peer}, S1))).

up(#{name := Name} = Peer, #state{members = Members} = S0) ->
    #{Name := #member{status = Status}} = Members,
    S1 = S0#state{members = Members#{Name := #member{peer = Peer, status = up}}},
    case Status of
        up -> S1;
        down -> emit({count, neighbour_added}, emit({neighbour_up, Peer}, S1))
    end.

down(#member{status = up, peer = #{name := Name}}, S) ->
    emit({disconnect, Name}, emit({neighbour_down, Name}, S));
down(#member{status = down, peer = #{name := Name}}, S) ->
    % It may be being dialled: a pin that outlived its member would keep the next one from being.
    emit({disconnect, Name}, S).

unreachable(#member{peer = #{name := Name} = Peer, status = Status, dialled = Dialled}, S0) ->
    S1 =
        case Status of
            up -> emit({count, neighbour_failed}, emit({neighbour_down, Name}, S0));
            down -> S0
        end,
    case Dialled < option(redials, S1) of
        true ->
            Member = #member{peer = Peer, dialled = Dialled + 1},
            Delay = min(option(redial_delay, S1) bsl Dialled, option(redial_max, S1)),
            S2 = S1#state{members = (S1#state.members)#{Name := Member}},
            emit({start_timer, {redial, Name}, Delay}, S2);
        false ->
            S1#state{
                members = maps:remove(Name, S1#state.members),
                given_up = (S1#state.given_up)#{Name => maps:get(incarnation, Peer)}
            }
    end.

depart_all(Departed, S) ->
    maps:fold(fun depart/3, S, Departed).

depart(Name, Incarnation, #state{departed = Departed0} = S0) ->
    Departed = maps:update_with(Name, fun(I) -> max(I, Incarnation) end, Incarnation, Departed0),
    S1 = S0#state{departed = Departed},
    case S1#state.members of
        #{Name := #member{peer = #{incarnation := Known}} = Member} when Known =< Incarnation ->
            S2 = down(Member, S1),
            emit({count, neighbour_left}, S2#state{members = maps:remove(Name, S2#state.members)});
        #{} ->
            S1
    end.

members(Kind, #state{self = Self, members = Members, departed = Departed}) ->
    {members, Kind, [Self | [Peer || #member{peer = Peer} <- maps:values(Members)]], Departed}.

%% Equal on two members exactly when they know the same lives of the same names.
digest(#state{self = Self, members = Members, departed = Departed}) ->
    Known = [Self | [Peer || #member{peer = Peer} <- maps:values(Members)]],
    Lives = lists:sort([{Name, I} || #{name := Name, incarnation := I} <- Known]),
    erlang:phash2({Lives, lists:sort(maps:to_list(Departed))}, 1 bsl 32).

is_self(#{name := Name}, #state{self = #{name := Self}}) ->
    Name =:= Self.

%% Internals: chance, options, effects.

%% News is compared soon: that carries it through a forming mesh in a logarithm of its size.
hurry(#state{hurried = true} = S) ->
    S;
hurry(#state{rand = Rand0} = S) ->
    {Delay, Rand} = rand:uniform_s(option(exchange_soon, S), Rand0),
    emit({start_timer, exchange, Delay}, S#state{hurried = true, rand = Rand}).

start_exchange(#state{rand = Rand0} = S) ->
    % Between half an interval and one and a half, so that members do not fall into step.
    Interval = option(exchange_interval, S),
    {Jitter, Rand} = rand:uniform_s(Interval, Rand0),
    emit({start_timer, exchange, Interval div 2 + Jitter}, S#state{rand = Rand}).

pick(List, #state{rand = Rand0} = S) ->
    {N, Rand} = rand:uniform_s(length(List), Rand0),
    {lists:nth(N, List), S#state{rand = Rand}}.

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

defaults() ->
    #{
        exchange_interval => 5000,
        exchange_soon => 500,
        redials => 10,
        redial_delay => 500,
        redial_max => 30000
    }.

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

flush(#state{out = Out} = S) ->
    {S#state{out = []}, lists:reverse(Out)}.
