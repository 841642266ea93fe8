%%% @doc X-BOT: HyParView whose links move to nearer peers, four nodes at a time.
%%%
%%% Leitão, Marques, Pereira, Rodrigues, "X-BOT: a protocol for resilient optimization of
%%% unstructured overlay networks", SRDS 2009. A node with a spare that is cheaper than a neighbour
%%% starts a round of four: the initiator i, its old neighbour o, the candidate c and a costly
%%% neighbour d of the candidate. If d prefers o, the links i-o and c-d are replaced by i-c and d-o:
%%% every degree stays the same, and the total cost falls.
%%%
%%% ```
%%%     i --optimise--> c --replace--> d --switch--> o
%%%     i <-optimised-- c <-replaced-- d <-switched- o
%%% '''
%%%
%%% Each node's costliest links are never given up (the paper's "unbiased neighbours"): they connect
%%% the clusters of near nodes, so that connectivity and path lengths stay those of a random
%%% overlay. A node changes its view only after the next in the chain has changed its own;
%%% HyParView's `keep' repairs links left one-sided by a lost message within a period.
%%%
%%% The cost of a peer is the round trip measured by the interpreter, the paper's "oracle".
%%% Everything except the optimisation is {@link partisan_overlay_hyparview}, in one state with it.
-module(partisan_overlay_xbot).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2, option/2, is_self/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    optimisation_interval => pos_integer(),
    % Spares measured per round: the paper's passive scan length.
    scan => pos_integer(),
    % Costliest links, never given up.
    unbiased => non_neg_integer(),
    active_max => pos_integer(),
    active_min => pos_integer(),
    % The other parameters are HyParView's.
    _ => _
}.

-type msg() ::
    {xbot, {optimise, Old :: partisan_peer:t()}}
    | {xbot, {optimised, boolean(), Old :: partisan_peer:t(), pair | free}}
    | {xbot, {replace, Old :: partisan_peer:t(), Initiator :: partisan_peer:t()}}
    | {xbot, {replaced, boolean(), Old :: partisan_peer:t(), Initiator :: partisan_peer:t()}}
    | {xbot, {switch, Initiator :: partisan_peer:t(), Candidate :: partisan_peer:t()}}
    | {xbot, {switched, boolean(), Initiator :: partisan_peer:t(), Candidate :: partisan_peer:t()}}
    | partisan_overlay_hyparview:msg().

-export_type([options/0, msg/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    hyparview := partisan_overlay_hyparview:state(),
    % Round trips of peers in either view, in microseconds.
    costs := #{partisan_peer:name() => non_neg_integer()},
    % Spares measured in this round, one of which may become the candidate.
    scanned := #{partisan_peer:name() => partisan_peer:t()},
    % As d: the request waiting for the cost of o, as {o, i, c}.
    weighing := none | {Old :: partisan_peer:t(), partisan_peer:t(), partisan_peer:t()},
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{seed := {A, B, C}} = Given) ->
    Own = #{hyparview => none, costs => #{}, scanned => #{}, weighing => none},
    S0 = partisan_layer:new(defaults(), Given#{seed := {B, C, A}}, Own),
    HyParView = partisan_overlay_hyparview:init(maps:merge(defaults(), Given)),
    S1 = partisan_layer:absorb(hyparview, HyParView, S0),
    Interval = option(optimisation_interval, S1),
    partisan_layer:started(partisan_layer:start_timer_within(optimise, Interval, S1)).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{hyparview := HyParView}) ->
    partisan_overlay_hyparview:neighbours(HyParView).

%% @private
-spec passive(state()) -> [partisan_peer:t()].
passive(#{hyparview := HyParView}) ->
    partisan_overlay_hyparview:passive(HyParView).

%% Events.

event({timer, optimise}, S0) ->
    S1 = emit({start_timer, optimise, option(optimisation_interval, S0)}, forget_costs(S0)),
    {Scanned, S2} = partisan_layer:sample(option(scan, S1), passive(S1), S1#{weighing := none}),
    S3 = S2#{scanned := maps:from_list([{Name, P} || #{name := Name} = P <- Scanned])},
    % Neighbours are measured every time too, since costs change.
    lists:foldl(fun(Peer, S) -> emit({measure, Peer}, S) end, S3, neighbours(S3) ++ Scanned);
event({cost, Name, Cost}, #{costs := Costs} = S) ->
    Measured = emit({count, measured}, S#{costs := Costs#{Name => Cost}}),
    consider(Name, weigh(Name, Measured));
event({message, From, {xbot, Msg}}, S) ->
    message(Msg, From, S);
event({peer_down, Name, _Reason} = Event, #{scanned := Scanned} = S) ->
    hyparview(Event, S#{scanned := maps:remove(Name, Scanned)});
event(Event, S) ->
    hyparview(Event, S).

%% At i: starts a round if this spare is cheaper than our costliest replaceable neighbour. One
%% attempt per period.
consider(Name, #{scanned := Scanned, costs := Costs} = S) ->
    Full = length(neighbours(S)) >= option(active_min, S),
    case {Scanned, costliest([], S)} of
        {#{Name := Candidate}, {Cost, Old}} when Full, map_get(Name, Costs) < Cost ->
            case is_neighbour(Candidate, S) of
                true -> S;
                false -> send(Candidate, {optimise, Old}, S#{scanned := #{}})
            end;
        _ ->
            S
    end.

%% Messages.

%% At c: with room for one more, no neighbour has to be replaced.
message({optimise, Old}, From, S) ->
    Room = length(neighbours(S)) < option(active_max, S),
    case {is_neighbour(From, S), costliest([Old, From], S)} of
        {true, _} -> send(From, {optimised, false, Old, pair}, S);
        {false, _} when Room -> send(From, {optimised, true, Old, free}, take(From, S));
        {false, {_, Replaced}} -> send(Replaced, {replace, Old, From}, S);
        {false, none} -> send(From, {optimised, false, Old, pair}, S)
    end;
%% At d: measures o first if its cost is unknown.
message({replace, Old, Initiator}, From, #{costs := Costs} = S0) ->
    Possible =
        not is_self(Old, S0) andalso not is_neighbour(Old, S0) andalso is_neighbour(From, S0),
    #{name := OldName} = Old,
    case Possible of
        false ->
            send(From, {replaced, false, Old, Initiator}, S0);
        true when is_map_key(OldName, Costs) ->
            weigh(OldName, S0#{weighing := {Old, Initiator, From}});
        true ->
            emit({measure, Old}, S0#{weighing := {Old, Initiator, From}})
    end;
%% At o: the first to change its view. It drops i, which learns of it when the chain returns.
message({switch, Initiator, Candidate}, From, S) ->
    case is_neighbour(Initiator, S) andalso not is_neighbour(From, S) of
        true -> send(From, {switched, true, Initiator, Candidate}, exchange(Initiator, From, S));
        false -> send(From, {switched, false, Initiator, Candidate}, S)
    end;
%% At d, c and i: the next in the chain has switched, or declined.
message({switched, true, Initiator, Candidate}, From, S) ->
    send(Candidate, {replaced, true, From, Initiator}, exchange(Candidate, From, S));
message({switched, false, Initiator, Candidate}, From, S) ->
    send(Candidate, {replaced, false, From, Initiator}, S);
message({replaced, true, Old, Initiator}, From, S) ->
    send(Initiator, {optimised, true, Old, pair}, exchange(From, Initiator, S));
message({replaced, false, Old, Initiator}, _From, S) ->
    send(Initiator, {optimised, false, Old, pair}, S);
message({optimised, true, Old, pair}, From, S) ->
    emit({count, optimised}, exchange(Old, From, S));
message({optimised, true, Old, free}, From, S) ->
    % The old neighbour has not been notified.
    S1 = emit({count, optimised}, exchange(Old, From, S)),
    emit({send, Old, disconnect}, S1);
message({optimised, false, _Old, _}, _From, S) ->
    S.

%% At d, once the cost of o is known: whether o is better than c.
weigh(Name, #{weighing := {#{name := Name} = Old, Initiator, Candidate}, costs := Costs} = S0) ->
    S1 = S0#{weighing := none},
    #{Name := Cost} = Costs,
    #{name := CandidateName} = Candidate,
    case Costs of
        #{CandidateName := Present} when Cost < Present ->
            send(Old, {switch, Initiator, Candidate}, S1);
        #{} ->
            send(Candidate, {replaced, false, Old, Initiator}, S1)
    end;
weigh(_Name, S) ->
    S.

%% Internals: views and costs.

%% The costliest neighbour, except the unbiased ones and those given.
costliest(Except, #{costs := Costs} = S) ->
    Known = [{map_get(N, Costs), P} || #{name := N} = P <- neighbours(S), is_map_key(N, Costs)],
    Unbiased = option(unbiased, S),
    case lists:reverse(lists:sort(Known)) of
        Sorted when length(Sorted) > Unbiased ->
            Names = [Name || #{name := Name} <- Except],
            Biased = lists:nthtail(Unbiased, Sorted),
            case [E || {_, #{name := Name}} = E <- Biased, not lists:member(Name, Names)] of
                [Costliest | _] -> Costliest;
                [] -> none
            end;
        _ ->
            none
    end.

%% Forgets the costs of peers in neither view.
forget_costs(#{costs := Costs} = S) ->
    S#{costs := maps:with([Name || #{name := Name} <- neighbours(S) ++ passive(S)], Costs)}.

is_neighbour(#{name := Name}, S) ->
    lists:any(fun(#{name := Other}) -> Other =:= Name end, neighbours(S)).

take(Peer, #{hyparview := HyParView} = S) ->
    partisan_layer:absorb(hyparview, partisan_overlay_hyparview:take(Peer, HyParView), S).

exchange(Old, New, #{hyparview := HyParView} = S) ->
    partisan_layer:absorb(hyparview, partisan_overlay_hyparview:exchange(Old, New, HyParView), S).

hyparview(Event, #{hyparview := HyParView} = S) ->
    partisan_layer:absorb(hyparview, partisan_overlay_hyparview:handle(Event, HyParView), S).

%% Internals: options, effects.

send(Peer, Msg, S) ->
    emit({send, Peer, {xbot, Msg}}, S).

%% Optimisation is slower than repair, so that it works on a settled overlay.
defaults() ->
    #{
        optimisation_interval => 10000,
        scan => 2,
        unbiased => 1,
        active_max => 6,
        active_min => 3
    }.
