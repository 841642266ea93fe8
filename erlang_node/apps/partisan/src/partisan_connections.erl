%%% @doc The connections a node wants and those it has: the bookkeeping of the manager.
%%%
%%% A *link* is the overlay's lane to a peer. The overlay pins it with `connect' and unpins it with
%%% `disconnect'; an unpinned link carries messages to non-neighbours and is closed when idle. *Data
%%% lanes* carry the other channels; they are opened by their first message and belong to a
%%% neighbour.
%%%
%%% All lanes are linked to the process that calls this module, which passes on their reports
%%% (`up/3', `exited/3'); the return values are events for the protocol stack.
%%%
%%% Longer than 300 lines: links and data lanes are one table, seen from both ends.
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
-export([renumbered/2]).
-export([open/4]).
%% Reports of lanes.
-export([up/3]).
-export([is_lane/2]).
-export([exited/3]).
-export([break/2]).
%% Shutdown.
-export([close_all/1]).
-export([abandon/1]).
-export([is_empty/1]).

-record(link, {
    peer :: partisan_peer:t(),
    lane :: partisan_lane:t(),
    state = dialling :: dialling | up,
    pinned :: boolean(),
    % Whether it has been used since the idle timer was set.
    used = true :: boolean()
}).

-type waiter() :: {partisan_transport:key(), gen_server:from()}.
%% All lanes of one channel to one peer.
-type bundle() :: {partisan_peer:name(), Channel :: atom()}.

-record(links, {
    links = #{} :: #{partisan_peer:name() => #link{}},
    neighbours = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    % Every living lane, including closing ones.
    lanes = #{} :: #{pid() => {partisan_transport:key(), partisan_lane:t()}},
    % The open data lanes.
    data = #{} :: #{partisan_transport:key() => partisan_lane:t()},
    % The numbers of lanes that still send their contents, and the callers that wait, latest first.
    closing = #{} :: #{bundle() => [non_neg_integer()]},
    waiting = #{} :: #{bundle() => [waiter()]}
}).

-opaque t() :: #links{}.
-type event() ::
    {peer_up, partisan_peer:t()} | {peer_down, partisan_peer:name(), Reason :: term()}.
-export_type([t/0, event/0]).

%% @doc No links; forgets the lanes of a predecessor.
-spec new() -> t().
new() ->
    ok = partisan_transport:remove_lanes(),
    #links{}.

%% Links of the overlay.

%% @doc Pins a link to this peer, dialling unless there is one to this incarnation.
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

%% @doc Unpins a link, which is closed once it has been idle.
-spec disconnect(partisan_peer:name(), t()) -> t().
disconnect(Name, #links{links = Links} = S) ->
    case Links of
        #{Name := #link{pinned = true, lane = Lane} = Link} ->
            ok = idle_later(Name, Lane),
            S#links{links = Links#{Name := Link#link{pinned = false, used = false}}};
        #{} ->
            S
    end.

%% @doc Sends a message of the stack, dialling for the purpose if there is no link.
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
                    ok = send_on(Name, Link, Message),
                    {[], S#links{links = Links#{Name := Link#link{used = true}}}}
            end;
        #{} ->
            send(Peer, Message, dial(Peer, false, S))
    end.

%% @doc Handles the idle timer of a link.
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

%% @doc Allows data lanes to this peer.
-spec neighbour_up(partisan_peer:t(), t()) -> t().
neighbour_up(#{name := Name} = Peer, #links{neighbours = Neighbours} = S0) ->
    S =
        case Neighbours of
            #{Name := Previous} when Previous =/= Peer -> stop_data(Name, S0);
            #{} -> S0
        end,
    S#links{neighbours = Neighbours#{Name => Peer}}.

%% @doc Closes the data lanes to a previous neighbour, once their contents have been sent.
-spec neighbour_down(partisan_peer:name(), t()) -> t().
neighbour_down(Name, #links{neighbours = Neighbours} = S) ->
    Others = maps:remove(Name, Neighbours),
    close_data(Name, fun partisan_lane:close/1, S#links{neighbours = Others}).

%% @doc Closes the previous lanes of a channel whose lanes have new numbers
%% (`partisan_channel:set_parallelism/2'), once their contents have been delivered.
-spec renumbered(Channel :: atom(), t()) -> t().
renumbered(ChannelName, #links{data = Data} = S) ->
    Previous = [Key || {_, C, _} = Key <- maps:keys(Data), C =:= ChannelName],
    lists:foldl(
        fun(Key, Acc) -> retire(Key, maps:get(Key, Data), fun partisan_lane:drain/1, Acc) end,
        S,
        Previous
    ).

%% @doc Opens a data lane. `wait': the lane it replaces is still sending its contents; the caller is
%% answered when that is done, or gets `{error, busy}' if it prefers not to wait. `moved': the
%% channel's lanes have other numbers now.
-spec open(partisan_transport:key(), wait | no_wait, gen_server:from(), t()) ->
    {{ok, partisan_lane:t()} | {error, not_connected | moved | busy} | wait, t()}.
open({Name, ChannelName, Index} = Key, Wait, From, #links{data = Data} = S) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    case {Data, S#links.neighbours, partisan_channel:has_lane(Channel, Index)} of
        {#{Key := Lane}, _, _} ->
            {{ok, Lane}, S};
        {#{}, #{Name := Peer}, true} ->
            case {is_succeeding(Key, Channel, S), Wait} of
                {true, wait} ->
                    {wait, await({Name, ChannelName}, {Key, From}, S)};
                {true, no_wait} ->
                    {{error, busy}, S};
                {false, _} ->
                    {Lane, S1} = start_lane(Key, Peer, S),
                    {{ok, Lane}, S1#links{data = Data#{Key => Lane}}}
            end;
        {#{}, #{Name := _}, false} ->
            {{error, moved}, S};
        {#{}, #{}, _} ->
            {{error, not_connected}, S}
    end.

%% Reports of lanes.

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

%% @doc Whether this process is one of the lanes, including closing ones.
-spec is_lane(pid(), t()) -> boolean().
is_lane(Pid, #links{lanes = Lanes}) ->
    is_map_key(Pid, Lanes).

%% @doc A lane has ended, by itself or as requested.
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
        _ -> {[], data_exited(Key, Lane, S)}
    end.

%% @doc Ends all lanes to a peer at once, as a broken network would; `exited/3' follows.
-spec break(partisan_peer:name(), t()) -> ok.
break(Name, #links{lanes = Lanes}) ->
    lists:foreach(
        fun({{N, _, _}, Lane}) -> N =/= Name orelse partisan_lane:stop(Lane) end,
        maps:values(Lanes)
    ).

%% Shutdown.

%% @doc Closes every lane, once its contents have been sent.
-spec close_all(t()) -> t().
close_all(#links{lanes = Lanes} = S) ->
    Closed = lists:foldl(
        fun({Key, Lane}, Acc) -> retire(Key, Lane, fun partisan_lane:close/1, Acc) end,
        S,
        maps:values(Lanes)
    ),
    Closed#links{links = #{}, neighbours = #{}}.

%% @doc Ends every lane at once and discards its contents, without updating the other fields: with a
%% thousand links that would be most of the work.
-spec abandon(t()) -> t().
abandon(#links{lanes = Lanes}) ->
    lists:foreach(
        fun(Pid) ->
            true = unlink(Pid),
            true = exit(Pid, kill),
            receive
                {'EXIT', Pid, _} -> ok
            after 0 -> ok
            end
        end,
        maps:keys(Lanes)
    ),
    new().

%% @doc Whether every lane has ended.
-spec is_empty(t()) -> boolean().
is_empty(#links{lanes = Lanes}) ->
    map_size(Lanes) =:= 0.

%% Internals: links.

%% Whether the peer describes a later incarnation than that of the link.
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

%% Without notifying the overlay.
give_up(Name, #links{links = Links} = S) ->
    {#link{lane = Lane}, Others} = maps:take(Name, Links),
    ok = partisan_lane:stop(Lane),
    S#links{links = Others}.

send_on(Name, #link{lane = Lane}, Message) ->
    {ok, Channel} = partisan_channel:find(overlay),
    case partisan_channel:is_interposed(Channel) of
        false ->
            transmit_on(Lane, Channel, Message);
        true ->
            Transmit = fun(M) -> transmit_on(Lane, Channel, M) end,
            _ = partisan_injection:send(Name, overlay, Message, Channel, Transmit),
            ok
    end.

transmit_on(Lane, Channel, Message) ->
    {Bytes, _} = Frame = partisan_frame:overlay(Message),
    case Bytes > partisan_channel:message_limit(Channel) of
        % The peer would break the connection, and again at every retransmission.
        true -> partisan_channel:dropped(Channel, too_large);
        false -> send_frame(Lane, Channel, Frame)
    end.

send_frame(Lane, Channel, Frame) ->
    % The manager must not wait for one peer: a full link leads to a frozen peer, which its
    % heartbeats will show.
    partisan_lane:send(Lane, Channel, #{
        frame => Frame,
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

close_data(Name, Close, #links{lanes = Lanes} = S) ->
    Ours = [
        {Key, Lane}
     || {{N, Channel, _} = Key, Lane} <- maps:values(Lanes), N =:= Name, Channel =/= overlay
    ],
    lists:foldl(fun({Key, Lane}, Acc) -> retire(Key, Lane, Close, Acc) end, S, Ours).

%% Hidden first: a sender that finds the lane closed must not find it again.
retire({Name, ChannelName, Index} = Key, Lane, Close, #links{} = S) ->
    ok = partisan_transport:remove_lane(Key, Lane),
    ok = Close(Lane),
    #links{data = Data, closing = Closing} = S,
    Bundle = {Name, ChannelName},
    Indices = lists:usort([Index | maps:get(Bundle, Closing, [])]),
    S#links{data = maps:remove(Key, Data), closing = Closing#{Bundle => Indices}}.

%% A lane must not overtake the one that had its number, nor those of other numbers, which had some
%% of its keys.
is_succeeding({Name, ChannelName, Index}, Channel, #links{closing = Closing}) ->
    lists:any(
        fun(I) -> I =:= Index orelse not partisan_channel:has_lane(Channel, I) end,
        maps:get({Name, ChannelName}, Closing, [])
    ).

await(Bundle, Waiter, #links{waiting = Waiting} = S) ->
    S#links{waiting = Waiting#{Bundle => [Waiter | maps:get(Bundle, Waiting, [])]}}.

data_exited({Name, ChannelName, Index} = Key, Lane, S0) ->
    #links{data = Data, closing = Closing, waiting = Waiting} = S0,
    Bundle = {Name, ChannelName},
    S =
        case Data of
            % It crashed; the next message opens another.
            #{Key := Lane} -> S0#links{data = maps:remove(Key, Data)};
            #{} -> S0#links{closing = without(Bundle, Index, Closing)}
        end,
    lists:foldr(
        fun open_for/2,
        S#links{waiting = maps:remove(Bundle, Waiting)},
        maps:get(Bundle, Waiting, [])
    ).

open_for({Key, From}, S0) ->
    case open(Key, wait, From, S0) of
        {wait, S} ->
            S;
        {Answer, S} ->
            ok = gen_server:reply(From, Answer),
            S
    end.

without(Bundle, Index, Closing) ->
    case lists:delete(Index, maps:get(Bundle, Closing, [])) of
        [] -> maps:remove(Bundle, Closing);
        Others -> Closing#{Bundle => Others}
    end.

start_lane({_, ChannelName, Index} = Key, Peer, #links{lanes = Lanes} = S) ->
    {ok, Channel} = partisan_channel:find(ChannelName),
    Lane = partisan_outbound:start_link(#{peer => Peer, channel => Channel, index => Index}),
    % Only the manager uses links, but their queues and connections count.
    ok = partisan_transport:add_lane(Key, Lane),
    {Lane, S#links{lanes = Lanes#{partisan_lane:pid(Lane) => {Key, Lane}}}}.
