%%% @doc HyParView: a small symmetric active view over a large passive view.
%%%
%%% Leitão, Pereira, Rodrigues, "HyParView: a membership protocol for reliable gossip-based
%%% broadcast", DSN 2007. Section numbers below are that paper's.
%%%
%%% The active view holds the neighbours: links are symmetric and their loss is the failure
%%% detector. The passive view holds spares, refreshed by shuffles, from which a lost neighbour is
%%% replaced. What we do beyond the paper, and why:
%%% <ul>
%%% <li>The contact answers a join, carrying a sample of its views. A joiner enters the contact into
%%%     its active view only then, so a dead contact never becomes a neighbour, and a joiner whose
%%%     walks come to nothing still knows where else to go.</li>
%%% <li>A contact whose active view is full keeps it, has the joiner as a spare and leaves it to the
%%%     walks; in the paper it evicts a neighbour. When many join at once over one contact, its
%%%     neighbours would otherwise be those that joined last: their walks would all end among
%%%     themselves, and the overlay would be a chain of cliques in the order of the joins.</li>
%%% <li>Every promotion period each node tells its neighbours `keep'. Whoever gets one from a node
%%%     outside its active view takes it in or answers `disconnect': views that a race or a crash
%%%     left one-sided become symmetric again within a period.</li>
%%% <li>Peers carry incarnations. A message from a newer life of a neighbour ends the old link
%%%     first, so that a restarted node is never mistaken for its former self.</li>
%%% </ul>
-module(partisan_overlay_hyparview).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([take/2]).
-export([exchange/3]).

-type view() :: #{partisan_peer:name() => partisan_peer:t()}.
-type priority() :: high | low.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % Neighbours at most; the view is refilled while it holds fewer than `active_min'.
    active_max => pos_integer(),
    active_min => pos_integer(),
    passive_max => pos_integer(),
    % Random walk lengths, in hops: ARWL and PRWL of section 4.2.
    active_random_walk_length => non_neg_integer(),
    passive_random_walk_length => non_neg_integer(),
    % Own entry included, a shuffle carries 1 + active + passive sample (section 4.4).
    shuffle_active => non_neg_integer(),
    shuffle_passive => non_neg_integer(),
    shuffle_interval => pos_integer(),
    promotion_interval => pos_integer(),
    _ => _
}.

-type msg() ::
    join
    % The answers of a contact that takes the joiner in, and of one that leaves it to the walks.
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

-record(state, {
    self :: partisan_peer:t(),
    options :: options(),
    rand :: rand:state(),
    active = #{} :: view(),
    passive = #{} :: view(),
    % Whom we asked to become a neighbour and have no answer from, and whom this round of
    % promotion asked already.
    asked = none :: none | partisan_peer:name(),
    tried = #{} :: #{partisan_peer:name() => true},
    % What we offered in the last shuffle: first to go when the reply needs room (section 4.4).
    offered = [] :: [partisan_peer:name()],
    leaving = false :: boolean(),
    out = [] :: [partisan_overlay:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := Self, seed := Seed} = Given) ->
    Options = maps:merge(defaults(), Given),
    S0 = #state{self = Self, options = Options, rand = rand:seed_s(exsss, Seed)},
    % The first periods start at a random phase, lest a thousand nodes that were started together
    % shuffle together ever after.
    S1 = start_timer_within(promote, option(promotion_interval, S0), S0),
    flush(start_timer_within(shuffle, option(shuffle_interval, S1), S1)).

-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(_Event, #state{leaving = true} = S) ->
    {S, []};
handle(Event, S) ->
    flush(event(Event, S)).

-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#state{active = Active}) ->
    maps:values(Active).

-spec passive(state()) -> [partisan_peer:t()].
passive(#state{passive = Passive}) ->
    maps:values(Passive).

%% @doc Takes a peer into the active view, for overlays that choose neighbours by more than chance.
-spec take(partisan_peer:t(), state()) -> {state(), [partisan_overlay:effect()]}.
take(Peer, S) ->
    flush(add_active(Peer, S)).

%% @doc As `take/2', in the place of a neighbour that becomes a spare and is not told.
-spec exchange(Old :: partisan_peer:t(), New :: partisan_peer:t(), state()) ->
    {state(), [partisan_overlay:effect()]}.
exchange(#{name := Name} = Old, New, S) ->
    flush(add_active(New, add_passive(Old, [], drop_active(Name, evicted, S)))).

%% Events.

event({join, Contact}, S) ->
    case is_self(Contact, S) of
        true -> S;
        false -> emit({send, Contact, join}, S)
    end;
event({message, From, Msg}, S) ->
    case is_self(From, S) of
        true -> S;
        false -> message(Msg, From, new_life(From, S))
    end;
event({peer_up, Peer}, S) ->
    refresh(Peer, S);
event({peer_down, Name, _Reason}, S0) ->
    % A peer that cannot be reached is no spare either. Its successor comes by itself.
    S1 = S0#state{passive = maps:remove(Name, S0#state.passive)},
    S2 = drop_active(Name, failed, S1),
    promote(answered(Name, S2));
event({timer, promote}, S0) ->
    S1 = lists:foldl(fun(P, S) -> emit({send, P, keep}, S) end, S0, neighbours(S0)),
    S2 = promote(S1#state{asked = none, tried = #{}}),
    emit({start_timer, promote, option(promotion_interval, S2)}, S2);
event({timer, shuffle}, S) ->
    emit({start_timer, shuffle, option(shuffle_interval, S)}, shuffle(S));
event(leave, S0) ->
    S1 = lists:foldl(
        fun(#{name := Name} = Peer, S) ->
            Told = emit({send, Peer, disconnect}, S),
            emit({disconnect, Name}, emit({neighbour_down, Name}, Told))
        end,
        S0,
        neighbours(S0)
    ),
    S1#state{active = #{}, passive = #{}, leaving = true}.

%% Messages: joining (section 4.2).

message(join, From, S0) ->
    {Sample, S1} = sample_for(From, S0),
    S2 =
        case is_active(From, S1) orelse has_room(S1) of
            true -> emit({send, From, {welcome, Sample}}, add_active(From, S1));
            false -> emit({send, From, {referred, Sample}}, add_passive(From, [], S1))
        end,
    Walk = {forward_join, From, option(active_random_walk_length, S2)},
    lists:foldl(fun(P, S) -> emit({send, P, Walk}, S) end, S2, others(From, S2));
message({welcome, Sample}, From, S0) ->
    S1 = add_passive_all(Sample, [], S0),
    % We asked for this neighbour, but a burst of others may have filled the view meanwhile.
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
        false when TimeToLive =< 0; Next =:= []; map_size(S0#state.active) =< 1 ->
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
        true -> promote(add_passive(From, [], drop_active(Name, told, S0)));
        false -> promote(answered(Name, S0))
    end;
%% Messages: refreshing the passive view (section 4.4).
message({shuffle, Origin, TimeToLive, Peers}, From, S0) ->
    Next = others([From, Origin], S0),
    case is_self(Origin, S0) of
        true ->
            S0;
        false when TimeToLive > 0, Next =/= [], map_size(S0#state.active) > 1 ->
            {Peer, S1} = pick(Next, S0),
            emit({send, Peer, {shuffle, Origin, TimeToLive - 1, Peers}}, S1);
        false ->
            {Reply, S1} = sample(length(Peers), passive(S0), S0),
            Sent = [Name || #{name := Name} <- Reply],
            S2 = emit({send, Origin, {shuffle_reply, Reply}}, S1),
            add_passive_all(Peers, Sent, S2)
    end;
message({shuffle_reply, Peers}, _From, S0) ->
    S1 = add_passive_all(Peers, S0#state.offered, S0#state{offered = []}),
    promote(S1).

%% Internals: the active view.

%% A peer whom we must not take in keeps us as a spare, and we keep it as one.
refuse(Peer, S) ->
    emit({send, Peer, disconnect}, add_passive(Peer, [], S)).

%% The end of a joiner's walk: both sides take the other in, whomever that costs its place. Those
%% evicted find others, so that a storm of joins stirs the overlay instead of stretching it.
take_in(New, S) ->
    case is_active(New, S) of
        true -> S;
        false -> emit({send, New, accept}, add_active(New, S))
    end.

add_active(#{name := Name} = Peer, S0) ->
    case is_self(Peer, S0) of
        true ->
            S0;
        false ->
            S1 = answered(Name, S0#state{passive = maps:remove(Name, S0#state.passive)}),
            case is_active(Peer, S1) of
                true ->
                    refresh(Peer, S1);
                false ->
                    S2 = make_room(Peer, S1),
                    S3 = S2#state{active = (S2#state.active)#{Name => Peer}},
                    S4 = emit({neighbour_up, Peer}, emit({connect, Peer}, S3)),
                    emit({count, neighbour_added}, S4)
            end
    end.

%% Evicts a random neighbour when the view is full.
make_room(For, S0) ->
    case has_room(S0) of
        true ->
            S0;
        false ->
            {#{name := Name} = Victim, S1} = pick(others(For, S0), S0),
            S2 = emit({send, Victim, disconnect}, S1),
            add_passive(Victim, [], drop_active(Name, evicted, S2))
    end.

drop_active(Name, Why, S) ->
    case S#state.active of
        #{Name := _} ->
            S1 = S#state{active = maps:remove(Name, S#state.active)},
            S2 = emit({neighbour_down, Name}, S1),
            case Why of
                % The interpreter has forgotten the link already.
                failed -> emit({count, neighbour_failed}, S2);
                told -> emit({count, neighbour_left}, emit({disconnect, Name}, S2));
                evicted -> emit({count, neighbour_evicted}, emit({disconnect, Name}, S2))
            end;
        #{} ->
            S
    end.

%% Asks one spare at a time to become a neighbour, until there are enough (section 4.3). A spare
%% that refused is not asked again before the next promotion period.
promote(#state{asked = none} = S0) ->
    case map_size(S0#state.active) >= option(active_min, S0) of
        true ->
            S0;
        false ->
            case passive_candidates(S0) of
                [] ->
                    S0;
                Candidates ->
                    {#{name := Name} = Peer, S1} = pick(Candidates, S0),
                    Priority =
                        case map_size(S1#state.active) of
                            0 -> high;
                            _ -> low
                        end,
                    S2 = S1#state{asked = Name, tried = (S1#state.tried)#{Name => true}},
                    emit({count, promotion}, emit({send, Peer, {neighbour, Priority}}, S2))
            end
    end;
promote(S) ->
    S.

passive_candidates(#state{passive = Passive, tried = Tried}) ->
    [Peer || {Name, Peer} <- maps:to_list(Passive), not is_map_key(Name, Tried)].

answered(Name, #state{asked = Name} = S) ->
    S#state{asked = none};
answered(_Name, S) ->
    S.

%% Internals: the passive view.

shuffle(S0) ->
    case neighbours(S0) of
        [] ->
            S0;
        Active ->
            {Target, S1} = pick(Active, S0),
            {FromActive, S2} = sample(option(shuffle_active, S1), others(Target, S1), S1),
            {FromPassive, S3} = sample(option(shuffle_passive, S2), passive(S2), S2),
            Peers = [S3#state.self | FromActive ++ FromPassive],
            Offered = [Name || #{name := Name} <- FromPassive],
            Msg = {shuffle, S3#state.self, option(active_random_walk_length, S3), Peers},
            emit({send, Target, Msg}, S3#state{offered = Offered})
    end.

%% `GoFirst': names to drop before any other when the view is full.
add_passive_all(Peers, GoFirst, S) ->
    lists:foldl(fun(Peer, Acc) -> add_passive(Peer, GoFirst, Acc) end, S, Peers).

add_passive(#{name := Name} = Peer, GoFirst, S0) ->
    #state{passive = Passive} = S0,
    case Passive of
        #{Name := Known} ->
            S0#state{passive = Passive#{Name := partisan_peer:newest(Known, Peer)}};
        #{} ->
            case is_self(Peer, S0) orelse is_map_key(Name, S0#state.active) of
                true ->
                    S0;
                false ->
                    S1 = make_passive_room(GoFirst, S0),
                    S1#state{passive = (S1#state.passive)#{Name => Peer}}
            end
    end.

make_passive_room(GoFirst, S0) ->
    #state{passive = Passive} = S0,
    case map_size(Passive) < option(passive_max, S0) of
        true ->
            S0;
        false ->
            Preferred = [Name || Name <- GoFirst, is_map_key(Name, Passive)],
            {Name, S1} =
                case Preferred of
                    [First | _] -> {First, S0};
                    [] -> pick(maps:keys(Passive), S0)
                end,
            S1#state{passive = maps:remove(Name, Passive)}
    end.

%% What a joiner starts with: some of our neighbours and spares.
sample_for(#{name := Name}, S) ->
    Known = [Peer || #{name := N} = Peer <- neighbours(S) ++ passive(S), N =/= Name],
    sample(option(shuffle_active, S) + option(shuffle_passive, S), Known, S).

%% Internals: identity.

%% A newer life of a neighbour: the link to the old one is gone, whatever the socket says.
new_life(#{name := Name} = From, S) ->
    case S#state.active of
        #{Name := Known} ->
            case partisan_peer:supersedes(From, Known) of
                true when map_get(incarnation, Known) > 0 -> drop_active(Name, told, S);
                true -> refresh(From, S);
                false -> S
            end;
        #{} ->
            S
    end.

%% Completes an address hint (incarnation 0) by what the handshake told.
refresh(#{name := Name} = Peer, S) ->
    case S#state.active of
        #{Name := Known} ->
            S#state{active = (S#state.active)#{Name := partisan_peer:newest(Known, Peer)}};
        #{} ->
            S
    end.

is_self(#{name := Name}, #state{self = #{name := Self}}) ->
    Name =:= Self.

is_active(#{name := Name}, #state{active = Active}) ->
    is_map_key(Name, Active).

has_room(#state{active = Active} = S) ->
    map_size(Active) < option(active_max, S).

%% Neighbours other than the given peer or peers.
others(Peers, #state{active = Active}) when is_list(Peers) ->
    maps:values(maps:without([Name || #{name := Name} <- Peers], Active));
others(Peer, S) ->
    others([Peer], S).

%% Internals: chance, options, effects.

pick(List, #state{rand = Rand0} = S) ->
    {Element, Rand} = partisan_random:pick(List, Rand0),
    {Element, S#state{rand = Rand}}.

sample(Size, List, #state{rand = Rand0} = S) ->
    {Sample, Rand} = partisan_random:sample(Size, List, Rand0),
    {Sample, S#state{rand = Rand}}.

start_timer_within(Name, Interval, #state{rand = Rand0} = S) ->
    {Delay, Rand} = rand:uniform_s(Interval, Rand0),
    emit({start_timer, Name, Delay}, S#state{rand = Rand}).

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

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

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

flush(#state{out = Out} = S) ->
    {S#state{out = []}, lists:reverse(Out)}.
