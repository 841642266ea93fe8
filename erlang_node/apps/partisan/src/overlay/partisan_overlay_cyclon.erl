%%% @doc Cyclon: a view of constant size that shuffling keeps a random sample.
%%%
%%% Voulgaris, Gavidia, van Steen, "CYCLON: inexpensive membership management for unstructured P2P
%%% overlays", Journal of Network and Systems Management 13(2), 2005. Terms in quotes are the
%%% paper's. Once per period a node sends a few entries of its view to the peer in its oldest entry,
%%% and each side replaces what it sent by what it received ("enhanced shuffling"). Entries of dead
%%% nodes soon become the oldest, are picked for a shuffle and never come back. Random walks carry a
%%% joiner through the overlay; each of them swaps it for one entry ("joining").
%%%
%%% Cyclon's views are one-sided by design: a node is in as many views as its own has entries only
%%% on average. Broadcasts get the two-sided neighbours of {@link partisan_symmetric_view}: those in
%%% the view and those in whose view this node is. Entries change all the time, hence neighbours
%%% too, and a broadcast tree has to be rebuilt continually; prefer HyParView where that matters.
%%%
%%% A broken link removes the entry at once. The paper has no such detection; the HyParView paper
%%% calls the combination "CyclonAcked".
-module(partisan_overlay_cyclon).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2, option/2, is_self/2, pick/2, sample/3]).

-type entry() :: {partisan_peer:t(), Age :: non_neg_integer()}.

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    view_size => pos_integer(),
    % Entries per shuffle, including the sender's own.
    shuffle_size => pos_integer(),
    shuffle_interval => pos_integer(),
    % Hops of a joiner's random walks.
    walk_length => non_neg_integer(),
    sides => partisan_symmetric_view:sides(),
    _ => _
}.

-type msg() ::
    join
    | {walk, Joiner :: partisan_peer:t(), TimeToLive :: non_neg_integer()}
    | {settled, entry() | none}
    | {shuffle, [entry()]}
    | {shuffle_reply, [entry()]}
    | bye
    | partisan_symmetric_view:msg().

-export_type([options/0, msg/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    % Age of each view entry in periods; the peers themselves are in the links.
    ages := #{partisan_peer:name() => non_neg_integer()},
    links := partisan_symmetric_view:t(),
    % Entries sent in the current shuffle, and to whom: replaced first by the reply.
    offered := none | {partisan_peer:name(), [partisan_peer:name()]},
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(Given) ->
    S0 = partisan_layer:new(defaults(), Given, #{ages => #{}, offered => none}),
    S1 = S0#{links => partisan_symmetric_view:new(option(sides, S0))},
    Interval = option(shuffle_interval, S1),
    partisan_layer:started(partisan_layer:start_timer_within(shuffle, Interval, S1)).

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

%% Events.

event({join, Contact}, S) ->
    emit({send, Contact, join}, S);
event({message, From, Msg}, S) ->
    message(Msg, From, S);
event({peer_up, Peer}, #{links := Links} = S) ->
    links(partisan_symmetric_view:up(Peer, Links), S);
event({peer_down, Name, _Reason}, #{ages := Ages, links := Links} = S) ->
    links(partisan_symmetric_view:down(Name, Links), S#{ages := maps:remove(Name, Ages)});
event({timer, shuffle}, #{links := Links} = S0) ->
    S1 = links(partisan_symmetric_view:tick(Links), S0),
    emit({start_timer, shuffle, option(shuffle_interval, S1)}, shuffle(S1));
event(leave, #{links := Links} = S0) ->
    S1 = partisan_layer:send_all(partisan_symmetric_view:neighbours(Links), bye, S0),
    links(partisan_symmetric_view:leave(Links), S1#{ages := #{}}).

%% Messages: joining.

message(join, From, S0) ->
    case others([From], S0) of
        [] ->
            settle(From, S0);
        View ->
            % The contact answers too, so that a node which rejoins a lost seed learns its new
            % incarnation; then one walk per place in the joiner's view.
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
    % The sender is as good an entry as the one it gave for us. Both replace others if a full view
    % rejoins: its part of the overlay may have been partitioned.
    {Entries, S1} = sample(2, entries(S), S),
    merge([E || E <- [Entry, {From, 0}], E =/= none], names(Entries), S1);
%% Messages: enhanced shuffling.
message({shuffle, Entries}, From, S0) ->
    {Reply, S1} = sample(length(Entries), entries(S0), S0),
    S2 = emit({send, From, {shuffle_reply, Reply}}, S1),
    merge(Entries, names(Reply), S2);
message({shuffle_reply, Entries}, #{name := Name}, S) ->
    case S of
        #{offered := {Name, Offered}} -> merge(Entries, Offered, S#{offered := none});
        #{} -> merge(Entries, [], S)
    end;
message(bye, #{name := Name} = From, S) ->
    message({links, release}, From, remove(Name, S));
message({links, _} = Msg, From, #{links := Links} = S) ->
    links(partisan_symmetric_view:message(Msg, From, Links), S).

%% Internals: joining.

walk(Joiner, Among, TimeToLive, S0) ->
    {Next, S1} = pick(Among, S0),
    emit({send, Next, {walk, Joiner, TimeToLive}}, S1).

%% End of a walk: the joiner replaces an entry here and receives it for its own view.
settle(Joiner, S0) ->
    case is_chosen(Joiner, S0) of
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

shuffle(#{self := Self, ages := Ages} = S0) ->
    S1 = S0#{ages := maps:map(fun(_, Age) -> Age + 1 end, Ages), offered := none},
    case lists:sort([{-Age, Name, Peer} || {#{name := Name} = Peer, Age} <- entries(S1)]) of
        [] ->
            S1;
        [{_, Oldest, Peer} | _] ->
            Others = [E || {#{name := N}, _} = E <- entries(S1), N =/= Oldest],
            {Sample, S2} = sample(option(shuffle_size, S1) - 1, Others, S1),
            % Our own fresh entry is sent in exchange for the entry of the peer.
            S3 = emit({send, Peer, {shuffle, [{Self, 0} | Sample]}}, remove(Oldest, S2)),
            S3#{offered := {Oldest, names(Sample)}}
    end.

%% Received entries fill free places first, then replace what was sent.
merge([], _Offered, S) ->
    S;
merge([{Peer, _} = Entry | Rest], Offered, S) ->
    case is_self(Peer, S) orelse is_chosen(Peer, S) of
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

entries(#{ages := Ages, links := Links}) ->
    [
        {Peer, maps:get(Name, Ages)}
     || #{name := Name} = Peer <- partisan_symmetric_view:chosen(Links)
    ].

names(Entries) ->
    [Name || {#{name := Name}, _} <- Entries].

others(Peers, #{links := Links}) ->
    partisan_peer:without(Peers, partisan_symmetric_view:chosen(Links)).

is_chosen(#{name := Name}, #{links := Links}) ->
    partisan_symmetric_view:is_chosen(Name, Links).

has_room(#{links := Links} = S) ->
    partisan_symmetric_view:chosen_size(Links) < option(view_size, S).

add({#{name := Name} = Peer, Age}, #{ages := Ages, links := Links} = S) ->
    links(partisan_symmetric_view:choose(Peer, Links), S#{ages := Ages#{Name => Age}}).

remove(Name, #{ages := Ages, links := Links} = S) ->
    links(partisan_symmetric_view:drop(Name, Links), S#{ages := maps:remove(Name, Ages)}).

links(Changed, S) ->
    partisan_layer:absorb(links, Changed, S).

%% Internals: options.

%% View and shuffle sizes as in the paper's experiments.
defaults() ->
    #{
        view_size => 20,
        shuffle_size => 8,
        shuffle_interval => 10000,
        walk_length => 5,
        sides => two_sided
    }.
