%%% @doc Cyclon: a view of constant size whose entries wander, so that it stays a random sample.
%%%
%%% Voulgaris, Gavidia, van Steen, "CYCLON: inexpensive membership management for unstructured P2P
%%% overlays", Journal of Network and Systems Management 13(2), 2005. The parts of that paper are
%%% named below. Once per period a node sends a few entries of its view to the one it has heard
%%% nothing of for the longest, and both put what they receive in the place of what they sent
%%% ("enhanced shuffling"). The dead are the oldest of all soon, are asked to shuffle and never
%%% come back. A joiner is carried through the overlay by random walks, each of which swaps it for
%%% one entry ("joining").
%%%
%%% Cyclon's views are one-sided by design: being chosen by as many as one chooses is a matter of
%%% chance, not of agreement. Broadcasts get the two-sided neighbours of {@link partisan_links}:
%%% those in the view and those in whose view this node is. As entries wander so do neighbours,
%%% and a broadcast tree has to be grown anew again and again; prefer HyParView where that counts.
%%%
%%% A link that is found broken removes the entry at once. The paper has no such detection; the
%%% HyParView paper calls the combination "CyclonAcked".
-module(partisan_overlay_cyclon).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-type entry() :: {partisan_peer:t(), Age :: non_neg_integer()}.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    view_size => pos_integer(),
    % Entries per shuffle, the sender's own among them.
    shuffle_size => pos_integer(),
    shuffle_interval => pos_integer(),
    % Hops of a joiner's random walks.
    walk_length => non_neg_integer(),
    sides => partisan_links:sides(),
    _ => _
}.

-type msg() ::
    join
    | {walk, Joiner :: partisan_peer:t(), TimeToLive :: non_neg_integer()}
    | {settled, entry() | none}
    | {shuffle, [entry()]}
    | {shuffle_reply, [entry()]}
    | bye
    | partisan_links:msg().

-export_type([options/0, msg/0]).

-record(state, {
    self :: partisan_peer:t(),
    options :: options(),
    rand :: rand:state(),
    % Age in periods of each entry of the view; the peers themselves are in the links.
    ages = #{} :: #{partisan_peer:name() => non_neg_integer()},
    links :: partisan_links:t(),
    % What was sent to whom in the shuffle under way: the first to make room for the reply.
    offered = none :: none | {partisan_peer:name(), [partisan_peer:name()]},
    leaving = false :: boolean(),
    out = [] :: [partisan_overlay:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := Self, seed := Seed} = Given) ->
    Options = maps:merge(defaults(), Given),
    {Phase, Rand} = rand:uniform_s(map_get(shuffle_interval, Options), rand:seed_s(exsss, Seed)),
    S = #state{
        self = Self,
        options = Options,
        rand = Rand,
        links = partisan_links:new(map_get(sides, Options))
    },
    flush(emit({start_timer, shuffle, Phase}, S)).

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

%% Events.

event({join, Contact}, S) ->
    case is_self(Contact, S) of
        true -> S;
        false -> emit({send, Contact, join}, S)
    end;
event({message, From, Msg}, S) ->
    case is_self(From, S) of
        true -> S;
        false -> message(Msg, From, S)
    end;
event({peer_up, Peer}, S) ->
    links(partisan_links:up(Peer, S#state.links), S);
event({peer_down, Name, _Reason}, #state{ages = Ages} = S) ->
    links(partisan_links:down(Name, S#state.links), S#state{ages = maps:remove(Name, Ages)});
event({timer, shuffle}, S0) ->
    S1 = links(partisan_links:tick(S0#state.links), S0),
    emit({start_timer, shuffle, option(shuffle_interval, S1)}, shuffle(S1));
event(leave, S0) ->
    Told = partisan_links:neighbours(S0#state.links),
    S1 = lists:foldl(fun(Peer, S) -> emit({send, Peer, bye}, S) end, S0, Told),
    S2 = links(partisan_links:leave(S1#state.links), S1),
    S2#state{ages = #{}, leaving = true}.

%% Messages: joining.

message(join, From, S0) ->
    case others([From], S0) of
        [] ->
            settle(From, S0);
        View ->
            % The contact answers too, so that one who joins a lost seed again learns of its life;
            % then one walk per place in the joiner's view.
            lists:foldl(
                fun(_, S) -> walk(From, View, option(walk_length, S), S) end,
                emit({send, From, {settled, none}}, S0),
                lists:seq(1, option(view_size, S0))
            )
    end;
message({walk, Joiner, TimeToLive}, From, S) ->
    case is_self(Joiner, S) of
        true ->
            S;
        false ->
            case others([From, Joiner], S) of
                Next when TimeToLive > 0, Next =/= [] -> walk(Joiner, Next, TimeToLive - 1, S);
                _ -> settle(Joiner, S)
            end
    end;
message({settled, Entry}, From, S) ->
    % Who took us in is as good an entry as the one that it gave for us. They come at the expense of
    % others where a full view joins again: its part of the overlay may have been cut off.
    {Entries, S1} = sample(2, entries(S), S),
    merge([E || E <- [Entry, {From, 0}], E =/= none], names(Entries), S1);
%% Messages: enhanced shuffling.
message({shuffle, Entries}, From, S0) ->
    {Reply, S1} = sample(length(Entries), entries(S0), S0),
    S2 = emit({send, From, {shuffle_reply, Reply}}, S1),
    merge(Entries, names(Reply), S2);
message({shuffle_reply, Entries}, #{name := Name}, S) ->
    case S#state.offered of
        {Name, Offered} -> merge(Entries, Offered, S#state{offered = none});
        _ -> merge(Entries, [], S)
    end;
message(bye, #{name := Name} = From, S0) ->
    S1 = remove(Name, S0),
    links(partisan_links:message({links, release}, From, S1#state.links), S1);
message({links, _} = Msg, From, S) ->
    links(partisan_links:message(Msg, From, S#state.links), S).

%% Internals: joining.

walk(Joiner, Among, TimeToLive, S0) ->
    {Next, S1} = pick(Among, S0),
    emit({send, Next, {walk, Joiner, TimeToLive}}, S1).

%% The end of a walk: the joiner takes an entry's place here, and gets that entry for its own view.
settle(#{name := Name} = Joiner, S0) ->
    case partisan_links:is_chosen(Name, S0#state.links) of
        true ->
            S0;
        false ->
            {Given, S1} =
                case has_room(S0) of
                    true ->
                        {none, S0};
                    false ->
                        {{#{name := Out}, _} = Entry, S} = pick(entries(S0), S0),
                        {Entry, remove(Out, S)}
                end,
            add({Joiner, 0}, emit({send, Joiner, {settled, Given}}, S1))
    end.

%% Internals: shuffling.

shuffle(S0) ->
    S1 = S0#state{ages = maps:map(fun(_, Age) -> Age + 1 end, S0#state.ages), offered = none},
    case lists:sort([{-Age, Name, Peer} || {#{name := Name} = Peer, Age} <- entries(S1)]) of
        [] ->
            S1;
        [{_, Oldest, Peer} | _] ->
            Others = [E || {#{name := N}, _} = E <- entries(S1), N =/= Oldest],
            {Sample, S2} = sample(option(shuffle_size, S1) - 1, Others, S1),
            % Our own fresh entry is sent in exchange for the one of the peer itself.
            S3 = emit({send, Peer, {shuffle, [{S2#state.self, 0} | Sample]}}, remove(Oldest, S2)),
            S3#state{offered = {Oldest, names(Sample)}}
    end.

%% Puts what was received into free places first, then in the place of what was sent.
merge([], _Offered, S) ->
    S;
merge([{#{name := Name} = Peer, _} = Entry | Rest], Offered, S) ->
    case is_self(Peer, S) orelse partisan_links:is_chosen(Name, S#state.links) of
        true ->
            merge(Rest, Offered, S);
        false ->
            case {has_room(S), Offered} of
                {true, _} -> merge(Rest, Offered, add(Entry, S));
                {false, [Out | Others]} -> merge([Entry | Rest], Others, remove(Out, S));
                {false, []} -> S
            end
    end.

%% Internals: the view.

entries(#state{ages = Ages, links = Links}) ->
    [{Peer, maps:get(Name, Ages)} || #{name := Name} = Peer <- partisan_links:chosen(Links)].

names(Entries) ->
    [Name || {#{name := Name}, _} <- Entries].

others(Peers, #state{links = Links}) ->
    Names = [Name || #{name := Name} <- Peers],
    [Peer || #{name := N} = Peer <- partisan_links:chosen(Links), not lists:member(N, Names)].

has_room(#state{links = Links} = S) ->
    partisan_links:chosen_size(Links) < option(view_size, S).

add({#{name := Name} = Peer, Age}, #state{ages = Ages} = S) ->
    links(partisan_links:choose(Peer, S#state.links), S#state{ages = Ages#{Name => Age}}).

remove(Name, #state{ages = Ages} = S) ->
    links(partisan_links:drop(Name, S#state.links), S#state{ages = maps:remove(Name, Ages)}).

links({Links, Effects}, S) ->
    lists:foldl(fun emit/2, S#state{links = Links}, Effects).

is_self(#{name := Name}, #state{self = #{name := Self}}) ->
    Name =:= Self.

%% Internals: chance, options, effects.

pick(List, #state{rand = Rand0} = S) ->
    {Element, Rand} = partisan_random:pick(List, Rand0),
    {Element, S#state{rand = Rand}}.

sample(Size, List, #state{rand = Rand0} = S) ->
    {Sample, Rand} = partisan_random:sample(Size, List, Rand0),
    {Sample, S#state{rand = Rand}}.

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

%% View and shuffle sizes as in the paper's experiments.
defaults() ->
    #{
        view_size => 20,
        shuffle_size => 8,
        shuffle_interval => 10000,
        walk_length => 5,
        sides => two_sided
    }.

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

flush(#state{out = Out} = S) ->
    {S#state{out = []}, lists:reverse(Out)}.
