%%% @doc HyParView: a small symmetric active view over a large passive view.
%%%
%%% Leitão, Pereira, Rodrigues, "HyParView: a membership protocol for reliable gossip-based
%%% broadcast", DSN 2007. Section numbers below are that paper's.
%%%
%%% The active view holds the neighbours: links are symmetric and their loss is the failure
%%% detector. The passive view holds spares, refreshed by shuffles, that replace lost neighbours.
%%% Additions to the paper, and why:
%%% <ul>
%%% <li>The contact answers a join with a sample of its views, and only then does the joiner add it
%%%     to its active view. A dead contact thus never becomes a neighbour, and a joiner whose walks
%%%     all fail still knows where else to go.</li>
%%% <li>A contact with a full active view keeps it, adds the joiner as a spare and leaves it to the
%%%     walks; in the paper it evicts a neighbour. If many join at once through one contact, its
%%%     neighbours would otherwise be the latest joiners: their walks would end among themselves,
%%%     and the overlay would be a chain of cliques in join order.</li>
%%% <li>Every promotion period each node sends `keep' to its neighbours. A node that gets one from
%%%     outside its active view adds the sender or answers `disconnect': views left one-sided by a
%%%     race or a crash become symmetric again within a period.</li>
%%% <li>Peers carry incarnations. A message from a newer incarnation of a neighbour ends the old
%%%     link first, so that a restarted node is never mistaken for its previous incarnation.</li>
%%% </ul>
%%%
%%% Longer than 300 lines: a whole published protocol, with what is listed above.
-module(partisan_overlay_hyparview).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([take/2]).
-export([exchange/3]).

-import(partisan_layer, [emit/2, option/2, is_self/2, pick/2, sample/3, start_timer_within/3]).

-type view() :: #{partisan_peer:name() => partisan_peer:t()}.
-type priority() :: high | low.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % Maximum number of neighbours; the view is refilled while it holds fewer than `active_min'.
    active_max => pos_integer(),
    active_min => pos_integer(),
    passive_max => pos_integer(),
    % Random walk lengths, in hops: ARWL and PRWL of section 4.2.
    active_random_walk_length => non_neg_integer(),
    passive_random_walk_length => non_neg_integer(),
    % With the node's own entry, a shuffle carries 1 + active + passive sample (section 4.4).
    shuffle_active => non_neg_integer(),
    shuffle_passive => non_neg_integer(),
    shuffle_interval => pos_integer(),
    promotion_interval => pos_integer(),
    _ => _
}.

-type msg() ::
    join
    % The contact's answers: it accepts the joiner, or leaves it to the walks.
    | {welcome, [partisan_peer:t()]}
    | {referred, [partisan_peer:t()]}
    | {forward_join, New :: partisan_peer:t(), TimeToLive :: non_neg_integer()}
    | {neighbour, priority()}
    | accept
    | reject
    | keep
    | disconnect
    | {shuffle, Origin :: partisan_peer:t(), TimeToLive :: non_neg_integer(), [partisan_peer:t()]}
    | {shuffle_reply, [partisan_peer:t()]}.

-export_type([options/0, msg/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    active := view(),
    passive := partisan_passive_view:t(),
    % The spare asked to become a neighbour that has not answered yet, and the spares already asked
    % in this round of promotion.
    asked := none | partisan_peer:name(),
    tried := #{partisan_peer:name() => true},
    % Offered in the last shuffle: first to go when the reply needs room (section 4.4).
    offered := [partisan_peer:name()],
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(Given) ->
    Own = #{active => #{}, asked => none, tried => #{}, offered => []},
    S0 = partisan_layer:new(defaults(), Given, Own),
    S1 = S0#{passive => partisan_passive_view:new(option(passive_max, S0))},
    S2 = start_timer_within(promote, option(promotion_interval, S1), S1),
    partisan_layer:started(start_timer_within(shuffle, option(shuffle_interval, S2), S2)).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{active := Active}) ->
    maps:values(Active).

%% @private
-spec passive(state()) -> [partisan_peer:t()].
passive(#{passive := Passive}) ->
    partisan_passive_view:peers(Passive).

%% @doc Adds a peer to the active view, for overlays that do not choose neighbours at random alone.
-spec take(partisan_peer:t(), state()) -> {state(), [partisan_overlay:effect()]}.
take(Peer, S) ->
    partisan_layer:started(add_active(Peer, S)).

%% @doc As `take/2', replacing a neighbour that becomes a spare and is not notified.
-spec exchange(Old :: partisan_peer:t(), New :: partisan_peer:t(), state()) ->
    {state(), [partisan_overlay:effect()]}.
exchange(#{name := Name} = Old, New, S) ->
    Dropped = add_passive(Old, [], drop_active(Name, evicted, S)),
    partisan_layer:started(add_active(New, Dropped)).

%% Events.

event({join, Contact}, S) ->
    emit({send, Contact, join}, S);
event({message, From, Msg}, S) ->
    message(Msg, From, new_incarnation(From, S));
event({peer_up, Peer}, S) ->
    refresh(Peer, S);
event({peer_down, Name, _Reason}, S0) ->
    % An unreachable peer is no spare either. Its next incarnation will join by itself.
    promote(answered(Name, drop_active(Name, failed, drop_passive(Name, S0))));
event({timer, promote}, S0) ->
    S1 = partisan_layer:send_all(neighbours(S0), keep, S0),
    S2 = promote(S1#{asked := none, tried := #{}}),
    emit({start_timer, promote, option(promotion_interval, S2)}, S2);
event({timer, shuffle}, S) ->
    emit({start_timer, shuffle, option(shuffle_interval, S)}, shuffle(S));
event(leave, S0) ->
    S1 = partisan_layer:part(neighbours(S0), disconnect, S0),
    S1#{active := #{}, passive := partisan_passive_view:new(option(passive_max, S1))}.

%% Messages: joining (section 4.2).

message(join, From, S0) ->
    {Sample, S1} = sample_for(From, S0),
    S2 =
        case is_active(From, S1) orelse has_room(S1) of
            true -> emit({send, From, {welcome, Sample}}, add_active(From, S1));
            false -> emit({send, From, {referred, Sample}}, add_passive(From, [], S1))
        end,
    Walk = {forward_join, From, option(active_random_walk_length, S2)},
    partisan_layer:send_all(others([From], S2), Walk, S2);
message({welcome, Sample}, From, S0) ->
    S1 = add_passive_all(Sample, [], S0),
    % We asked for this neighbour, but a burst of others may have filled the view since.
    case is_active(From, S1) orelse has_room(S1) of
        true -> add_active(From, S1);
        false -> refuse(From, S1)
    end;
message({referred, Sample}, _From, S) ->
    add_passive_all(Sample, [], S);
message({forward_join, New, TimeToLive}, From, S0) ->
    Next = others([From, New], S0),
    case is_self(New, S0) of
        true ->
            S0;
        false when TimeToLive =< 0; Next =:= []; map_size(map_get(active, S0)) =< 1 ->
            take_in(New, S0);
        false ->
            S1 =
                case TimeToLive =:= option(passive_random_walk_length, S0) of
                    true -> add_passive(New, [], S0);
                    false -> S0
                end,
            {Peer, S2} = pick(Next, S1),
            emit({send, Peer, {forward_join, New, TimeToLive - 1}}, S2)
    end;
%% Messages: repairing the active view (section 4.3).
message({neighbour, Priority}, From, S0) ->
    case Priority =:= high orelse is_active(From, S0) orelse has_room(S0) of
        true -> emit({send, From, accept}, add_active(From, S0));
        false -> emit({send, From, reject}, S0)
    end;
message(accept, From, S) ->
    promote(add_active(From, S));
message(reject, From, S) ->
    promote(answered(maps:get(name, From), S));
message(keep, From, S) ->
    case is_active(From, S) orelse has_room(S) of
        true -> add_active(From, S);
        false -> refuse(From, S)
    end;
message(disconnect, #{name := Name} = From, S0) ->
    case is_active(From, S0) of
        true -> promote(add_passive(From, [], drop_active(Name, left, S0)));
        false -> promote(answered(Name, S0))
    end;
%% Messages: refreshing the passive view (section 4.4).
message({shuffle, Origin, TimeToLive, Peers}, From, S0) ->
    Next = others([From, Origin], S0),
    case is_self(Origin, S0) of
        true ->
            S0;
        false when TimeToLive > 0, Next =/= [], map_size(map_get(active, S0)) > 1 ->
            {Peer, S1} = pick(Next, S0),
            emit({send, Peer, {shuffle, Origin, TimeToLive - 1, Peers}}, S1);
        false ->
            {Reply, S1} = sample(length(Peers), passive(S0), S0),
            Sent = [Name || #{name := Name} <- Reply],
            S2 = emit({send, Origin, {shuffle_reply, Reply}}, S1),
            add_passive_all(Peers, Sent, S2)
    end;
message({shuffle_reply, Peers}, _From, S0) ->
    S1 = add_passive_all(Peers, map_get(offered, S0), S0#{offered := []}),
    promote(S1).

%% Internals: the active view.

%% A rejected peer and this node keep each other as spares.
refuse(Peer, S) ->
    emit({send, Peer, disconnect}, add_passive(Peer, [], S)).

%% End of a joiner's walk: both sides accept the other, evicting a neighbour if need be. The evicted
%% find others, so a storm of joins stirs the overlay instead of stretching it.
take_in(New, S) ->
    case is_active(New, S) of
        true -> S;
        false -> emit({send, New, accept}, add_active(New, S))
    end.

add_active(#{name := Name} = Peer, S0) ->
    S1 = answered(Name, drop_passive(Name, S0)),
    case is_active(Peer, S1) of
        true ->
            refresh(Peer, S1);
        false ->
            #{active := Active} = S2 = make_room(S1),
            S3 = emit({connect, Peer}, S2#{active := Active#{Name => Peer}}),
            partisan_layer:neighbour_up(Peer, S3)
    end.

%% Evicts a random neighbour when the view is full.
make_room(S0) ->
    case has_room(S0) of
        true ->
            S0;
        false ->
            {#{name := Name} = Victim, S1} = pick(neighbours(S0), S0),
            S2 = emit({send, Victim, disconnect}, S1),
            add_passive(Victim, [], drop_active(Name, evicted, S2))
    end.

drop_active(Name, Why, #{active := Active} = S) when is_map_key(Name, Active) ->
    Dropped = S#{active := maps:remove(Name, Active)},
    case Why of
        % The interpreter has forgotten the link already.
        failed -> partisan_layer:neighbour_down(Name, neighbour_failed, Dropped);
        left -> unlink(Name, neighbour_left, Dropped);
        evicted -> unlink(Name, neighbour_evicted, Dropped)
    end;
drop_active(_Name, _Why, S) ->
    S.

unlink(Name, Reason, S) ->
    emit({disconnect, Name}, partisan_layer:neighbour_down(Name, Reason, S)).

%% Asks one spare at a time to become a neighbour, until there are enough (section 4.3). A spare
%% that refused is not asked again before the next promotion period.
promote(#{asked := none, active := Active, passive := Passive, tried := Tried} = S0) ->
    Enough = map_size(Active) >= option(active_min, S0),
    case partisan_passive_view:except(Tried, Passive) of
        [_ | _] = Candidates when not Enough ->
            {#{name := Name} = Peer, S1} = pick(Candidates, S0),
            Priority =
                case map_size(Active) of
                    0 -> high;
                    _ -> low
                end,
            S2 = S1#{asked := Name, tried := Tried#{Name => true}},
            emit({count, promotion}, emit({send, Peer, {neighbour, Priority}}, S2));
        _ ->
            S0
    end;
promote(S) ->
    S.

answered(Name, #{asked := Name} = S) ->
    S#{asked := none};
answered(_Name, S) ->
    S.

%% Internals: the passive view.

shuffle(S0) ->
    case neighbours(S0) of
        [] ->
            S0;
        Active ->
            {Target, S1} = pick(Active, S0),
            {FromActive, S2} = sample(option(shuffle_active, S1), others([Target], S1), S1),
            {FromPassive, S3} = sample(option(shuffle_passive, S2), passive(S2), S2),
            #{self := Self} = S3,
            Offered = [Name || #{name := Name} <- FromPassive],
            TimeToLive = option(active_random_walk_length, S3),
            Msg = {shuffle, Self, TimeToLive, [Self | FromActive ++ FromPassive]},
            emit({send, Target, Msg}, S3#{offered := Offered})
    end.

%% `GoFirst': names to drop before any other when the view is full.
add_passive_all(Peers, GoFirst, S) ->
    lists:foldl(fun(Peer, Acc) -> add_passive(Peer, GoFirst, Acc) end, S, Peers).

add_passive(Peer, GoFirst, #{passive := Passive0, rand := Rand0} = S) ->
    case is_self(Peer, S) orelse is_active(Peer, S) of
        true ->
            S;
        false ->
            {Passive, Rand} = partisan_passive_view:add(Peer, GoFirst, Passive0, Rand0),
            S#{passive := Passive, rand := Rand}
    end.

drop_passive(Name, #{passive := Passive} = S) ->
    S#{passive := partisan_passive_view:remove(Name, Passive)}.

%% Sample of our neighbours and spares for a joiner to start with.
sample_for(#{name := Name}, S) ->
    Known = [Peer || #{name := N} = Peer <- neighbours(S) ++ passive(S), N =/= Name],
    sample(option(shuffle_active, S) + option(shuffle_passive, S), Known, S).

%% Internals: identity.

%% A newer incarnation of a neighbour: the old link is gone, whatever the socket says.
new_incarnation(#{name := Name} = From, #{active := Active} = S) ->
    case Active of
        #{Name := #{incarnation := Known}} when Known > 0 ->
            case partisan_peer:supersedes(From, map_get(Name, Active)) of
                true -> drop_active(Name, left, S);
                false -> S
            end;
        #{} ->
            refresh(From, S)
    end.

%% Completes an address hint (incarnation 0) from the handshake.
refresh(#{name := Name} = Peer, #{active := Active} = S) ->
    case Active of
        #{Name := Known} -> S#{active := Active#{Name := partisan_peer:newest(Known, Peer)}};
        #{} -> S
    end.

is_active(#{name := Name}, #{active := Active}) ->
    is_map_key(Name, Active).

has_room(#{active := Active} = S) ->
    map_size(Active) < option(active_max, S).

%% Neighbours other than these.
others(Peers, #{active := Active}) ->
    maps:values(maps:without([Name || #{name := Name} <- Peers], Active)).

%% Internals: options.

%% The parameters Lasp's published evaluation ran with; shuffle sample sizes are the paper's.
defaults() ->
    #{
        active_max => 6,
        active_min => 3,
        passive_max => 30,
        active_random_walk_length => 6,
        passive_random_walk_length => 3,
        shuffle_active => 3,
        shuffle_passive => 4,
        shuffle_interval => 10000,
        promotion_interval => 5000
    }.
