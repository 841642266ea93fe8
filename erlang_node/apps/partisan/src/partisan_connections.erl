%%% @doc The connections that a node wants, and those it has: the bookkeeping of the manager.
%%%
%%% A *link* is the overlay's lane to a peer. The overlay pins it with `connect' and lets go of it
%%% with `disconnect'; a link that is not pinned serves messages to nodes that are no neighbours,
%%% and is closed when it has been idle. *Data lanes* carry the other channels; they are opened by
%%% their first message and belong to a neighbour.
%%%
%%% All lanes are linked to the process that calls this module, which passes on what they tell it
%%% (`up/3', `exited/3'); the answers are events for the protocol stack.
-module(partisan_connections).

-export([new/0]).
%% Links of the overlay.
-export([connect/2]).
-export([disconnect/2]).
-export([send/3]).
-export([idle/3]).
%% Data lanes.
-export([neighbour_up/2]).
-export([neighbour_down/2]).
-export([open/3]).
%% What lanes report.
-export([up/3]).
-export([exited/3]).
%% The end.
-export([close_all/1]).
-export([is_empty/1]).

-record(link, {
    peer :: partisan_peer:t(),
    lane :: partisan_lane:t(),
    state = dialling :: dialling | up,
    pinned :: boolean(),
    % Has it carried something since the idle timer was set?
    used = true :: boolean()
}).

-type waiter() :: gen_server:from().

-record(links, {
    links = #{} :: #{partisan_peer:name() => #link{}},
    neighbours = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    % Every living lane, closing ones included.
    lanes = #{} :: #{pid() => {partisan_transport:key(), partisan_lane:t()}},
    data = #{} :: #{partisan_transport:key() => open | {closing, [waiter()]}}
}).

-opaque t() :: #links{}.
-type event() ::
    {peer_up, partisan_peer:t()} | {peer_down, partisan_peer:name(), Reason :: term()}.
-export_type([t/0, event/0]).

%% @doc No links yet; lanes of a predecessor are forgotten.
-spec new() -> t().
new() ->
    ok = partisan_transport:remove_lanes(),
    #links{}.

%% Links of the overlay.

%% @doc Pins a link to this peer, dialling where there is none to this life of it.
-spec connect(partisan_peer:t(), t()) -> {[event()], t()}.
connect(#{name := Name} = Peer, #links{links = Links} = S) ->
    case Links of
        #{Name := Link} ->
            case is_outdated(Link, Peer) of
                true -> {[], dial(Peer, true, give_up(Name, S))};
                false -> pin(Name, Link, S)
            end;
        #{} ->
            {[], dial(Peer, true, S)}
    end.

%% @doc Lets go of a link; it is closed once it has been idle.
-spec disconnect(partisan_peer:name(), t()) -> t().
disconnect(Name, #links{links = Links} = S) ->
    case Links of
        #{Name := #link{pinned = true, lane = Lane} = Link} ->
            ok = idle_later(Name, Lane),
            S#links{links = Links#{Name := Link#link{pinned = false, used = false}}};
        #{} ->
            S
    end.

%% @doc Sends a message of the stack, dialling for the purpose where there is no link.
-spec send(partisan_peer:t(), term(), t()) -> {[event()], t()}.
send(#{name := Name} = Peer, Message, #links{links = Links} = S) ->
    case Links of
        #{Name := Link} ->
            case is_outdated(Link, Peer) of
                true ->
                    Events = [{peer_down, Name, restarted} || Link#link.pinned],
                    {More, S1} = send(Peer, Message, give_up(Name, S)),
                    {Events ++ More, S1};
                false ->
                    ok = send_on(Link, Message),
                    {[], S#links{links = Links#{Name := Link#link{used = true}}}}
            end;
        #{} ->
            send(Peer, Message, dial(Peer, false, S))
    end.

%% @doc The idle timer of a link has fired.
-spec idle(partisan_peer:name(), pid(), t()) -> t().
idle(Name, Pid, #links{links = Links} = S) ->
    case Links of
        #{Name := #link{pinned = false, used = Used, lane = Lane} = Link} ->
            case {partisan_lane:pid(Lane), Used} of
                {Pid, true} ->
                    ok = idle_later(Name, Lane),
                    S#links{links = Links#{Name := Link#link{used = false}}};
                {Pid, false} ->
                    ok = partisan_lane:close(Lane),
                    S#links{links = maps:remove(Name, Links)};
                {_Other, _} ->
                    S
            end;
        #{} ->
            S
    end.

%% Data lanes.

%% @doc From now on data lanes to this peer may be opened.
-spec neighbour_up(partisan_peer:t(), t()) -> t().
neighbour_up(#{name := Name} = Peer, #links{neighbours = Neighbours} = S0) ->
    S =
        case Neighbours of
            #{Name := Former} when Former =/= Peer -> stop_data(Name, S0);
            #{} -> S0
        end,
    S#links{neighbours = Neighbours#{Name => Peer}}.

%% @doc Closes the data lanes to a former neighbour, once what they hold has been sent.
-spec neighbour_down(partisan_peer:name(), t()) -> t().
neighbour_down(Name, #links{neighbours = Neighbours} = S) ->
    Others = maps:remove(Name, Neighbours),
    close_data(Name, fun partisan_lane:close/1, S#links{neighbours = Others}).

%% @doc Opens a data lane. `wait': its predecessor is still sending what it holds; the caller is
%% answered when that is done.
-spec open(partisan_transport:key(), waiter(), t()) ->
    {{ok, partisan_lane:t()} | {error, not_connected} | wait, t()}.
open({Name, _, _} = Key, From, #links{neighbours = Neighbours, data = Data} = S) ->
    case {Neighbours, Data} of
        {#{Name := _}, #{Key := open}} ->
            [Lane] = [H || {K, H} <- maps:values(S#links.lanes), K =:= Key],
            {{ok, Lane}, S};
        {#{Name := _}, #{Key := {closing, Waiting}}} ->
            {wait, S#links{data = Data#{Key := {closing, [From | Waiting]}}}};
        {#{Name := Peer}, #{}} ->
            {Lane, S1} = start_lane(Key, Peer, S),
            {{ok, Lane}, S1#links{data = Data#{Key => open}}};
        {#{}, _} ->
            {{error, not_connected}, S}
    end.

%% What lanes report.

%% @doc A link has been established.
-spec up(pid(), partisan_peer:t(), t()) -> {[event()], t()}.
up(Pid, #{name := Name} = Peer, #links{links = Links} = S) ->
    case Links of
        #{Name := #link{lane = Lane, pinned = Pinned} = Link} ->
            case partisan_lane:pid(Lane) of
                Pid ->
                    Up = Link#link{peer = Peer, state = up},
                    {[{peer_up, Peer} || Pinned], S#links{links = Links#{Name := Up}}};
                _Successor ->
                    {[], S}
            end;
        #{} ->
            {[], S}
    end.

%% @doc A lane has ended, by itself or because it was told to.
-spec exited(pid(), Reason :: term(), t()) -> {[event()], t()}.
exited(Pid, Reason, #links{lanes = Lanes} = S0) ->
    {{{Name, ChannelName, _} = Key, Lane}, Others} = maps:take(Pid, Lanes),
    {ok, Channel} = partisan_channel:find(ChannelName),
    Lost = partisan_queue:messages(partisan_lane:queue(Lane)),
    ok = partisan_channel:dropped(Channel, disconnected, Lost),
    ok = partisan_transport:remove_lane(Key, Lane),
    S = S0#links{lanes = Others},
    case ChannelName of
        overlay -> link_exited(Name, Lane, Lost, Reason, S);
        _ -> {[], data_exited(Key, S)}
    end.

%% The end.

%% @doc Closes every lane, once what it holds has been sent.
-spec close_all(t()) -> t().
close_all(#links{lanes = Lanes} = S) ->
    lists:foreach(fun({_, Lane}) -> partisan_lane:close(Lane) end, maps:values(Lanes)),
    S#links{links = #{}, neighbours = #{}}.

%% @doc Has every lane ended?
-spec is_empty(t()) -> boolean().
is_empty(#links{lanes = Lanes}) ->
    map_size(Lanes) =:= 0.

%% Internals: links.

%% Does the peer describe a later life than the one that the link leads to, or is meant to?
is_outdated(#link{peer = #{incarnation := 0}, state = dialling}, _Peer) -> false;
is_outdated(#link{peer = Known}, Peer) -> partisan_peer:supersedes(Peer, Known).

pin(_Name, #link{pinned = true}, S) ->
    {[], S};
pin(Name, #link{state = State, peer = Peer} = Link, #links{links = Links} = S) ->
    {
        [{peer_up, Peer} || State =:= up],
        S#links{links = Links#{Name := Link#link{pinned = true}}}
    }.

dial(#{name := Name} = Peer, Pinned, S) ->
    {Lane, #links{links = Links} = S1} = start_lane({Name, overlay, 0}, Peer, S),
    ok = idle_later(Name, Lane),
    S1#links{links = Links#{Name => #link{peer = Peer, lane = Lane, pinned = Pinned}}}.

%% Without a word to the overlay.
give_up(Name, #links{links = Links} = S) ->
    {#link{lane = Lane}, Others} = maps:take(Name, Links),
    ok = partisan_lane:stop(Lane),
    S#links{links = Others}.

send_on(#link{lane = Lane}, Message) ->
    {ok, Channel} = partisan_channel:find(overlay),
    % The manager must not wait for one peer: a full link has a frozen peer at its end, whose
    % heartbeats will tell.
    partisan_lane:send(Lane, Channel, #{
        frame => partisan_frame:overlay(Message),
        slot => {partisan_manager, overlay},
        on_busy => drop,
        timeout => 0
    }).

idle_later(Name, Lane) ->
    Timer = {link_idle, Name, partisan_lane:pid(Lane)},
    _ = erlang:send_after(partisan_config:get(idle_timeout), self(), Timer),
    ok.

link_exited(Name, Lane, Lost, Reason, #links{links = Links} = S) ->
    case Links of
        #{Name := #link{lane = Lane, pinned = Pinned, state = State}} ->
            S1 = S#links{links = maps:remove(Name, Links)},
            case Pinned orelse State =:= dialling orelse Lost > 0 of
                true ->
                    {[{peer_down, Name, reason(Reason)}], stop_data(Name, S1)};
                false ->
                    {[], S1}
            end;
        #{} ->
            {[], S}
    end.

reason({shutdown, {down, Reason}}) -> Reason;
reason(Reason) -> Reason.

%% Internals: data lanes.

stop_data(Name, S) ->
    close_data(Name, fun partisan_lane:stop/1, S).

close_data(Name, Close, #links{lanes = Lanes, data = Data0} = S) ->
    Data = maps:fold(
        fun
            (_Pid, {{N, Channel, _} = Key, Lane}, Acc) when N =:= Name, Channel =/= overlay ->
                ok = Close(Lane),
                ok = partisan_transport:remove_lane(Key, Lane),
                case Acc of
                    #{Key := open} -> Acc#{Key := {closing, []}};
                    #{} -> Acc
                end;
            (_Pid, _Lane, Acc) ->
                Acc
        end,
        Data0,
        Lanes
    ),
    S#links{data = Data}.

data_exited({Name, _, _} = Key, #links{data = Data, neighbours = Neighbours} = S) ->
    case {maps:take(Key, Data), Neighbours} of
        {{{closing, [_ | _] = Waiting}, Others}, #{Name := Peer}} ->
            {Lane, S1} = start_lane(Key, Peer, S),
            reply(Waiting, {ok, Lane}),
            S1#links{data = Others#{Key => open}};
        {{{closing, Waiting}, Others}, _} ->
            reply(Waiting, {error, not_connected}),
            S#links{data = Others};
        {{open, Others}, _} ->
            % It crashed; the next message opens another.
            S#links{data = Others}
    end.

reply(Waiting, Answer) ->
    lists:foreach(fun(From) -> gen_server:reply(From, Answer) end, Waiting).

start_lane({_, ChannelName, Index} = Key, Peer, #links{lanes = Lanes} = S) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    Lane = partisan_outbound:start_link(#{peer => Peer, channel => Channel, index => Index}),
    % Links are for the manager alone, yet their queues and connections count.
    ok = partisan_transport:add_lane(Key, Lane),
    {Lane, S#links{lanes = Lanes#{partisan_lane:pid(Lane) => {Key, Lane}}}}.
