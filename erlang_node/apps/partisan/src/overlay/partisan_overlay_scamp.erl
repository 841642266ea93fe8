%%% @doc SCAMP: a view whose size adapts to the logarithm of the cluster size.
%%%
%%% Ganesh, Kermarrec, Massoulié, "SCAMP: peer-to-peer lightweight membership service for
%%% large-scale group communication", NGC 2001, and as revised in "Peer-to-peer membership
%%% management for gossip-based protocols", IEEE Transactions on Computers 52(2), 2003. A contact
%%% passes a newcomer's subscription on to all in its view and `c' of them once more. A node keeps a
%%% subscription with probability 1 / (1 + size of its view), and otherwise forwards it to a random
%%% member of its view; views thus reach (c + 1) ln n entries without any node knowing n. The
%%% additions of the revision are options:
%%% <ul>
%%% <li>`unsubscription': a leaving node asks its holders to replace it by members of its own view,
%%%     except for `c' + 1 of them, so that views shrink too; without it, it only says goodbye.</li>
%%% <li>`indirection': hops that a newcomer's request walks to find its contact, so that newcomers
%%%     do not all have the same few seeds in their views.</li>
%%% <li>`lease': periods after which an entry expires, and within which a member resubscribes, so
%%%     that errors do not persist.</li>
%%% </ul>
%%% A member held by no other receives no heartbeat and resubscribes ("recovery from isolation").
%%% {@link partisan_symmetric_view} provides the heartbeats and the links back.
%%%
%%% The kinds `scamp_v1' and `scamp_v2' are two sets of options of this module ({@link
%%% partisan_overlay_registry}); {@link partisan_overlay_hiscamp} runs one instance per level.
%%%
%%% The views are one-sided by design; neighbours are the held and the holders.
%%%
%%% Longer than 300 lines: a whole published protocol, with what its revision adds.
-module(partisan_overlay_scamp).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).
-export([version_1/0]).

-import(partisan_layer, [emit/2, option/2, is_self/2, pick/2, sample/3, uniform/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % The paper's c: copies beyond one per view entry, hence the number of tolerated failures.
    redundancy => non_neg_integer(),
    unsubscription => replace | goodbye,
    indirection => non_neg_integer(),
    lease => infinity | pos_integer(),
    % Length of a period, the unit of heartbeats, leases and isolation.
    heartbeat_interval => pos_integer(),
    % Periods without any holder after which a member is considered isolated.
    isolation => pos_integer(),
    sides => partisan_symmetric_view:sides(),
    _ => _
}.

-type msg() ::
    {subscribe, New :: partisan_peer:t(), Indirection :: non_neg_integer()}
    | passed_on
    | contact
    | {subscription, New :: partisan_peer:t(), TimeToLive :: non_neg_integer()}
    | {replace_me, partisan_peer:t()}
    | goodbye
    | partisan_symmetric_view:msg().

-export_type([options/0, msg/0]).

%% Factor by which a walk may exceed its expected length, the view size.
-define(WALK_FACTOR, 8).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    links := partisan_symmetric_view:t(),
    % Periods until each view entry expires, if there are leases.
    leases := #{partisan_peer:name() => pos_integer()},
    % Periods until the own subscription is renewed, and periods without a holder.
    renewal := infinity | non_neg_integer(),
    alone := non_neg_integer(),
    % Newcomers whose requests have come through this node in this period.
    asked := #{partisan_peer:name() => []},
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(Given) ->
    % The lease may be `infinity'.
    Defaults = maps:merge(defaults(), maps:filter(fun is_endless/2, Given)),
    S0 = partisan_layer:new(Defaults, Given, #{leases => #{}, alone => 0, asked => #{}}),
    S1 = S0#{links => partisan_symmetric_view:new(option(sides, S0)), renewal => option(lease, S0)},
    Interval = option(heartbeat_interval, S1),
    partisan_layer:started(partisan_layer:start_timer_within(heartbeat, Interval, S1)).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{links := Links}) ->
    partisan_symmetric_view:neighbours(Links).

%% @private
-spec passive(state()) -> [partisan_peer:t()].
passive(#{links := Links}) ->
    partisan_symmetric_view:passive(Links).

%% @doc Parameters of SCAMP as first published: a leaving node says goodbye, the node asked is the
%% contact, and subscriptions do not expire.
-spec version_1() -> map().
version_1() ->
    #{unsubscription => goodbye, indirection => 0, lease => infinity}.

%% Events.

event({join, Contact}, S) ->
    subscribe(Contact, S);
event({message, From, Msg}, S) ->
    message(Msg, From, S);
event({peer_up, Peer}, #{links := Links} = S) ->
    links(partisan_symmetric_view:up(Peer, Links), S);
event({peer_down, Name, _Reason}, #{links := Links} = S) ->
    links(partisan_symmetric_view:down(Name, Links), forget(Name, S));
event({timer, heartbeat}, #{links := Links} = S0) ->
    S1 = links(partisan_symmetric_view:tick(Links), S0),
    S2 = recover(renew(expire(S1#{asked := #{}}))),
    emit({start_timer, heartbeat, option(heartbeat_interval, S2)}, S2);
event(leave, #{links := Links} = S0) ->
    S1 = unsubscribe(option(unsubscription, S0), S0),
    links(partisan_symmetric_view:leave(Links), S1#{leases := #{}}).

%% Messages: subscription.

message({subscribe, #{name := Name}, _}, #{name := Name} = From, #{asked := Asked} = S) when
    is_map_key(Name, Asked)
->
    % A newcomer asks again until it has a neighbour. Its subscription is under way, and another
    % would only be kept by more members.
    emit({send, From, passed_on}, S);
message({subscribe, #{name := Name} = New, Indirection}, From, #{asked := Asked} = S0) ->
    S = S0#{asked := Asked#{Name => []}},
    case others([From, New], S) of
        _ when Indirection =:= 0 -> be_contact(New, S);
        [] -> be_contact(New, S);
        Others -> forward({subscribe, New, Indirection - 1}, Others, acknowledge(From, New, S))
    end;
message(passed_on, _From, S) ->
    S;
message(contact, From, S) ->
    % At first a newcomer's view holds only the contact.
    keep(From, S);
message({subscription, New, TimeToLive}, From, S0) ->
    {Drawn, S1} = uniform(1 + view_size(S0), S0),
    case {can_keep(New, S1), others([From, New], S1)} of
        {true, []} -> keep(New, S1);
        {true, _} when Drawn =:= 1; TimeToLive =:= 0 -> keep(New, S1);
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
message({links, _} = Msg, From, #{links := Links} = S) ->
    links(partisan_symmetric_view:message(Msg, From, Links), S).

%% Internals: subscription.

subscribe(Contact, #{self := Self} = S) ->
    emit({send, Contact, {subscribe, Self, option(indirection, S)}}, S).

%% A node asked to be the contact that passes the request on at least shows that it is alive.
acknowledge(#{name := Name} = From, #{name := Name}, S) ->
    emit({send, From, passed_on}, S);
acknowledge(_From, _New, S) ->
    S.

%% The subscriber keeps the contact, the contact spreads the subscription. A contact with an empty
%% view keeps it itself.
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
                    % A small view gets all copies: a member may receive several.
                    {Extra, S2} = lists:mapfoldl(
                        fun(_, S) -> pick(View, S) end, S1, lists:seq(1, option(redundancy, S1))
                    ),
                    Copy = {subscription, New, ?WALK_FACTOR * (1 + length(View))},
                    partisan_layer:send_all(View ++ Extra, Copy, S2)
            end
    end.

forward(Msg, Among, S0) ->
    {Next, S1} = pick(Among, S0),
    emit({send, Next, Msg}, S1).

can_keep(#{name := Name} = Peer, #{links := Links} = S) ->
    not is_self(Peer, S) andalso not partisan_symmetric_view:is_chosen(Name, Links).

keep(#{name := Name} = Peer, #{leases := Leases0, links := Links} = S) ->
    Leases =
        case option(lease, S) of
            infinity -> Leases0;
            Periods -> Leases0#{Name => Periods}
        end,
    links(partisan_symmetric_view:choose(Peer, Links), S#{leases := Leases}).

%% Internals: unsubscription.

unsubscribe(goodbye, #{links := Links} = S) ->
    goodbye(partisan_symmetric_view:neighbours(Links), S);
unsubscribe(replace, #{links := Links} = S0) ->
    View = partisan_symmetric_view:chosen(Links),
    {Holders, S1} = sample(length(holders(S0)), holders(S0), S0),
    Dropping = option(redundancy, S1) + 1,
    {Replacing, Rest} = lists:split(max(0, length(Holders) - Dropping), Holders),
    S2 = replace_me(Replacing, View, View, S1),
    Names = [Name || #{name := Name} <- Replacing],
    Chosen = [Peer || #{name := Name} = Peer <- View, not lists:member(Name, Names)],
    goodbye(lists:usort(Rest ++ Chosen), S2).

%% Deals the view out to the holders, starting over when it is exhausted.
replace_me([], _Deal, _View, S) ->
    S;
replace_me(Holders, [], [_ | _] = View, S) ->
    replace_me(Holders, View, View, S);
replace_me([Holder | Holders], [Successor | Deal], View, S) ->
    replace_me(Holders, Deal, View, emit({send, Holder, {replace_me, Successor}}, S));
replace_me(Holders, [], [], S) ->
    goodbye(Holders, S).

goodbye(Peers, S) ->
    partisan_layer:send_all(Peers, goodbye, S).

departed(#{name := Name} = Peer, S) ->
    message({links, release}, Peer, remove(Name, S)).

%% Internals: leases and isolation.

expire(#{leases := Leases} = S0) ->
    maps:fold(
        fun
            (Name, 1, S) -> remove(Name, S);
            (Name, Periods, #{leases := Left} = S) -> S#{leases := Left#{Name := Periods - 1}}
        end,
        S0,
        Leases
    ).

renew(#{renewal := infinity} = S) ->
    S;
renew(#{renewal := Periods} = S) when Periods > 1 ->
    S#{renewal := Periods - 1};
renew(S) ->
    subscribe_anew(S#{renewal := option(lease, S)}).

recover(#{alone := Alone} = S) ->
    case {option(sides, S), holders(S)} of
        {two_sided, []} ->
            case Alone + 1 >= option(isolation, S) of
                true -> subscribe_anew(S#{alone := 0});
                false -> S#{alone := Alone + 1}
            end;
        _ ->
            S#{alone := 0}
    end.

subscribe_anew(#{links := Links} = S0) ->
    case partisan_symmetric_view:chosen(Links) of
        [] ->
            % The stack asks the seeds once the last neighbour is lost.
            S0;
        View ->
            {Contact, S1} = pick(View, S0),
            emit({count, resubscription}, subscribe(Contact, S1))
    end.

%% Internals: the view.

view_size(#{links := Links}) ->
    partisan_symmetric_view:chosen_size(Links).

holders(#{links := Links}) ->
    partisan_symmetric_view:holders(Links).

others(Peers, #{links := Links}) ->
    partisan_peer:without(Peers, partisan_symmetric_view:chosen(Links)).

remove(Name, #{links := Links} = S) ->
    links(partisan_symmetric_view:drop(Name, Links), forget(Name, S)).

forget(Name, #{leases := Leases} = S) ->
    S#{leases := maps:remove(Name, Leases)}.

links(Changed, S) ->
    partisan_layer:absorb(links, Changed, S).

%% Internals: options.

is_endless(Name, Value) ->
    Name =:= lease andalso Value =:= infinity.

%% SCAMP as revised.
defaults() ->
    #{
        redundancy => 4,
        unsubscription => replace,
        indirection => 8,
        % Ten minutes.
        lease => 120,
        heartbeat_interval => 5000,
        isolation => 3,
        sides => two_sided
    }.
