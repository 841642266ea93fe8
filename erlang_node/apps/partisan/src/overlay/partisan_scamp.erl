%%% @doc SCAMP's mechanisms: a view that grows with the logarithm of the cluster by itself.
%%%
%%% Ganesh, Kermarrec, Massoulié, "Peer-to-peer membership management for gossip-based protocols",
%%% IEEE Transactions on Computers 52(2), 2003. A contact passes a newcomer's subscription on to all
%%% in its view and `c' of them once more. Whoever gets one keeps it with the probability
%%% 1 / (1 + size of its view), and else passes it on to one of its view; the views so arrive at
%%% (c + 1) ln n entries, without anyone knowing n. The mechanisms are options:
%%% <ul>
%%% <li>`unsubscription': one who leaves asks its holders to replace it by members of its own view,
%%%     except for `c' + 1 of them, so that the views scale down too; or it says goodbye only.</li>
%%% <li>`indirection': hops that a newcomer's request walks before someone acts as its contact, so
%%%     that not all newcomers have the same few seeds in their views.</li>
%%% <li>`lease': periods after which an entry expires, and within which a member subscribes anew:
%%%     what went wrong once does not stay wrong.</li>
%%% </ul>
%%% A member that nobody holds any more hears no heartbeat; it subscribes again ("recovery from
%%% isolation"). Heartbeats and links back are those of {@link partisan_links}.
%%%
%%% {@link partisan_overlay_scamp_v1} and {@link partisan_overlay_scamp_v2} are this module under
%%% two sets of options; {@link partisan_overlay_hiscamp} runs one per level.
-module(partisan_scamp).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([view/1]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % The paper's c: copies beyond one per view entry, and so the tolerance of failures.
    redundancy := non_neg_integer(),
    unsubscription := replace | goodbye,
    indirection := non_neg_integer(),
    lease := infinity | pos_integer(),
    % Length of a period: heartbeats, leases and isolation are counted in it.
    heartbeat_interval := pos_integer(),
    % Periods without any holder after which a member counts as isolated.
    isolation := pos_integer(),
    sides := partisan_links:sides(),
    _ => _
}.

-type msg() ::
    {subscribe, New :: partisan_peer:t(), Indirection :: non_neg_integer()}
    | passed_on
    | contact
    | {subscription, New :: partisan_peer:t(), TimeToLive :: non_neg_integer()}
    | {replace_me, partisan_peer:t()}
    | goodbye
    | partisan_links:msg().

-export_type([options/0, msg/0]).

%% A walking subscription outlives its expected length, the view size, this many times.
-define(WALK_FACTOR, 8).

-record(state, {
    self :: partisan_peer:t(),
    options :: options(),
    rand :: rand:state(),
    links :: partisan_links:t(),
    % Periods until each entry of the view expires, where there are leases.
    leases = #{} :: #{partisan_peer:name() => pos_integer()},
    % Periods until the own subscription is renewed, and periods without a holder.
    renewal :: infinity | non_neg_integer(),
    alone = 0 :: non_neg_integer(),
    leaving = false :: boolean(),
    out = [] :: [partisan_overlay:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := Self, seed := Seed, heartbeat_interval := Interval, sides := Sides} = Options) ->
    {Phase, Rand} = rand:uniform_s(Interval, rand:seed_s(exsss, Seed)),
    S = #state{
        self = Self,
        options = Options,
        rand = Rand,
        links = partisan_links:new(Sides),
        renewal = map_get(lease, Options)
    },
    flush(emit({start_timer, heartbeat, Phase}, S)).

-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(_Event, #state{leaving = true} = S) ->
    {S, []};
handle(Event, S) ->
    flush(event(Event, S)).

-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#state{links = Links}) ->
    partisan_links:neighbours(Links).

-spec passive(state()) -> [partisan_peer:t()].
passive(#state{links = Links}) ->
    partisan_links:passive(Links).

%% @doc The paper's PartialView: those this node chose, whether they are reachable or not.
-spec view(state()) -> [partisan_peer:t()].
view(#state{links = Links}) ->
    partisan_links:chosen(Links).

%% Events.

event({join, Contact}, S) ->
    case is_self(Contact, S) of
        true -> S;
        false -> subscribe(Contact, S)
    end;
event({message, From, Msg}, S) ->
    case is_self(From, S) of
        true -> S;
        false -> message(Msg, From, S)
    end;
event({peer_up, Peer}, S) ->
    links(partisan_links:up(Peer, S#state.links), S);
event({peer_down, Name, _Reason}, S) ->
    links(partisan_links:down(Name, S#state.links), forget(Name, S));
event({timer, heartbeat}, S0) ->
    S1 = links(partisan_links:tick(S0#state.links), S0),
    S2 = recover(renew(expire(S1))),
    emit({start_timer, heartbeat, option(heartbeat_interval, S2)}, S2);
event(leave, S0) ->
    S1 = unsubscribe(option(unsubscription, S0), S0),
    S2 = links(partisan_links:leave(S1#state.links), S1),
    S2#state{leases = #{}, leaving = true}.

%% Messages: subscription.

message({subscribe, New, Indirection}, From, S) ->
    case others([From, New], S) of
        _ when Indirection =:= 0 -> be_contact(New, S);
        [] -> be_contact(New, S);
        Others -> forward({subscribe, New, Indirection - 1}, Others, acknowledge(From, New, S))
    end;
message(passed_on, _From, S) ->
    S;
message(contact, From, S) ->
    % The contact is all that a newcomer's view holds at first.
    keep(From, S);
message({subscription, New, TimeToLive}, From, S0) ->
    {Drawn, Rand} = partisan_random:chance(1 + view_size(S0), S0#state.rand),
    S1 = S0#state{rand = Rand},
    case {can_keep(New, S1), others([From, New], S1)} of
        {true, []} -> keep(New, S1);
        {true, _} when Drawn; TimeToLive =:= 0 -> keep(New, S1);
        {_, Others} when TimeToLive > 0, Others =/= [] ->
            forward({subscription, New, TimeToLive - 1}, Others, S1);
        {false, _} -> S1
    end;
%% Messages: unsubscription.
message({replace_me, Successor}, From, S) ->
    Left = departed(From, S),
    case can_keep(Successor, Left) of
        true -> keep(Successor, Left);
        false -> Left
    end;
message(goodbye, From, S) ->
    departed(From, S);
message({links, _} = Msg, From, S) ->
    links(partisan_links:message(Msg, From, S#state.links), S).

%% Internals: subscription.

subscribe(Contact, S) ->
    emit({send, Contact, {subscribe, S#state.self, option(indirection, S)}}, S).

%% Who is asked to be a contact and is not the one in the end says at least that it lives.
acknowledge(#{name := Name} = From, #{name := Name}, S) ->
    emit({send, From, passed_on}, S);
acknowledge(_From, _New, S) ->
    S.

%% The one who asks keeps the contact, the contact spreads the subscription. A contact that knows
%% nobody else keeps it itself.
be_contact(New, S0) ->
    case is_self(New, S0) of
        true ->
            S0;
        false ->
            S1 = emit({send, New, contact}, S0),
            case others([New], S1) of
                [] ->
                    keep(New, S1);
                View ->
                    % However small the view: a member may get several copies.
                    {Extra, S2} = lists:mapfoldl(
                        fun(_, S) -> pick(View, S) end, S1, lists:seq(1, option(redundancy, S1))
                    ),
                    Copy = {subscription, New, ?WALK_FACTOR * (1 + length(View))},
                    lists:foldl(fun(P, S) -> emit({send, P, Copy}, S) end, S2, View ++ Extra)
            end
    end.

forward(Msg, Among, S0) ->
    {Next, S1} = pick(Among, S0),
    emit({send, Next, Msg}, S1).

can_keep(#{name := Name} = Peer, S) ->
    not is_self(Peer, S) andalso not partisan_links:is_chosen(Name, S#state.links).

keep(#{name := Name} = Peer, #state{leases = Leases0} = S) ->
    Leases =
        case option(lease, S) of
            infinity -> Leases0;
            Periods -> Leases0#{Name => Periods}
        end,
    links(partisan_links:choose(Peer, S#state.links), S#state{leases = Leases}).

%% Internals: unsubscription.

unsubscribe(goodbye, S0) ->
    goodbye(partisan_links:neighbours(S0#state.links), S0);
unsubscribe(replace, S0) ->
    View = partisan_links:chosen(S0#state.links),
    {Holders, S1} = draw(length(holders(S0)), holders(S0), S0),
    Dropping = option(redundancy, S1) + 1,
    {Replacing, Rest} = lists:split(max(0, length(Holders) - Dropping), Holders),
    S2 = replace_me(Replacing, View, View, S1),
    Names = [Name || #{name := Name} <- Replacing],
    Chosen = [Peer || #{name := Name} = Peer <- View, not lists:member(Name, Names)],
    goodbye(lists:usort(Rest ++ Chosen), S2).

%% Deals the view out to the holders, from its start again when it is dealt out.
replace_me([], _Deal, _View, S) ->
    S;
replace_me(Holders, [], [_ | _] = View, S) ->
    replace_me(Holders, View, View, S);
replace_me([Holder | Holders], [Successor | Deal], View, S) ->
    replace_me(Holders, Deal, View, emit({send, Holder, {replace_me, Successor}}, S));
replace_me(Holders, [], [], S) ->
    goodbye(Holders, S).

goodbye(Peers, S0) ->
    lists:foldl(fun(Peer, S) -> emit({send, Peer, goodbye}, S) end, S0, Peers).

departed(#{name := Name} = Peer, S0) ->
    S1 = remove(Name, S0),
    links(partisan_links:message({links, release}, Peer, S1#state.links), S1).

%% Internals: leases and isolation.

expire(#state{leases = Leases} = S0) ->
    maps:fold(
        fun
            (Name, 1, S) -> remove(Name, S);
            (Name, Periods, S) -> S#state{leases = (S#state.leases)#{Name := Periods - 1}}
        end,
        S0,
        Leases
    ).

renew(#state{renewal = infinity} = S) ->
    S;
renew(#state{renewal = Periods} = S) when Periods > 1 ->
    S#state{renewal = Periods - 1};
renew(S) ->
    subscribe_anew(S#state{renewal = option(lease, S)}).

recover(S) ->
    case {option(sides, S), holders(S)} of
        {two_sided, []} ->
            case S#state.alone + 1 >= option(isolation, S) of
                true -> subscribe_anew(S#state{alone = 0});
                false -> S#state{alone = S#state.alone + 1}
            end;
        _ ->
            S#state{alone = 0}
    end.

subscribe_anew(S0) ->
    case partisan_links:chosen(S0#state.links) of
        [] ->
            % The stack asks the seeds once the last neighbour is lost.
            S0;
        View ->
            {Contact, S1} = pick(View, S0),
            emit({count, resubscription}, subscribe(Contact, S1))
    end.

%% Internals: the view.

view_size(#state{links = Links}) ->
    partisan_links:chosen_size(Links).

holders(#state{links = Links}) ->
    partisan_links:holders(Links).

others(Peers, #state{links = Links}) ->
    Names = [Name || #{name := Name} <- Peers],
    [Peer || #{name := N} = Peer <- partisan_links:chosen(Links), not lists:member(N, Names)].

remove(Name, S) ->
    links(partisan_links:drop(Name, S#state.links), forget(Name, S)).

forget(Name, #state{leases = Leases} = S) ->
    S#state{leases = maps:remove(Name, Leases)}.

links({Links, Effects}, S) ->
    lists:foldl(fun emit/2, S#state{links = Links}, Effects).

is_self(#{name := Name}, #state{self = #{name := Self}}) ->
    Name =:= Self.

%% Internals: chance, options, effects.

pick(List, #state{rand = Rand0} = S) ->
    {Element, Rand} = partisan_random:pick(List, Rand0),
    {Element, S#state{rand = Rand}}.

draw(Size, List, #state{rand = Rand0} = S) ->
    {Sample, Rand} = partisan_random:sample(Size, List, Rand0),
    {Sample, S#state{rand = Rand}}.

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

flush(#state{out = Out} = S) ->
    {S#state{out = []}, lists:reverse(Out)}.
