%%% @doc Client-server: servers know one another, every client knows one server.
%%%
%%% Clients spread over the servers by a hash of their name, and each moves on to the next server
%%% when its own is lost, at growing intervals until one answers. A client greets its server once
%%% per period; the greeting is also what tells a server that lost the client, or was restarted, to
%%% link back, and its absence what tells a server that the client has gone to another. Servers are
%%% dialled by one another for as long as they are configured, whatever
%%% happens to them.
-module(partisan_overlay_client_server).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % The names of the servers, and address hints among which theirs are.
    servers := [partisan_peer:name()],
    seeds := [partisan_peer:t()],
    greeting_interval => pos_integer(),
    % Periods without a greeting after which a server drops a client.
    patience => pos_integer(),
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    _ => _
}.

-type msg() :: hello | bye.

-export_type([options/0, msg/0]).

-record(state, {
    self :: partisan_peer:t(),
    options :: options(),
    role :: client | server,
    % Address hints of the servers other than this node, in the order this node tries them.
    servers :: [partisan_peer:t()],
    % Links pinned, and those of them that stand.
    linked = #{} :: #{partisan_peer:name() => {pending | up, partisan_peer:t()}},
    % Of each client, how many periods ago it greeted.
    silence = #{} :: #{partisan_peer:name() => non_neg_integer()},
    failures = 0 :: non_neg_integer(),
    leaving = false :: boolean(),
    out = [] :: [partisan_overlay:effect()]
}).

-opaque state() :: #state{}.
-export_type([state/0]).

%% API.

-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := #{name := Name} = Self, servers := Names, seeds := Seeds} = Given) ->
    Others = [Seed || #{name := N} = Seed <- Seeds, lists:member(N, Names), N =/= Name],
    S = #state{
        self = Self,
        options = maps:merge(defaults(), Given),
        role =
            case lists:member(Name, Names) of
                true -> server;
                false -> client
            end,
        servers = rotate(erlang:phash2(Name), Others)
    },
    flush(greet(S)).

-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(_Event, #state{leaving = true} = S) ->
    {S, []};
handle(Event, S) ->
    flush(event(Event, S)).

-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#state{linked = Linked}) ->
    [Peer || {up, Peer} <- maps:values(Linked)].

%% @doc The servers this node would turn to next.
-spec passive(state()) -> [partisan_peer:t()].
passive(#state{servers = Servers, linked = Linked}) ->
    [Peer || #{name := Name} = Peer <- Servers, not is_map_key(Name, Linked)].

%% Events.

% Who is a server is configured: there is no other contact worth joining.
event({join, _Contact}, S) ->
    S;
event({message, From, hello}, S) ->
    accept(From, S);
event({message, #{name := Name, incarnation := Incarnation}, bye}, S) ->
    case S#state.linked of
        #{Name := {_, #{incarnation := Known}}} when Known =< Incarnation ->
            lost(Name, neighbour_left, emit({disconnect, Name}, S));
        #{} ->
            S
    end;
event({peer_up, #{name := Name} = Peer}, #state{linked = Linked} = S0) ->
    case Linked of
        #{Name := {Status, Known}} ->
            Now = partisan_peer:newest(Known, Peer),
            S1 = S0#state{linked = Linked#{Name := {up, Now}}, failures = 0},
            case Status of
                up -> S1;
                pending -> emit({count, neighbour_added}, emit({neighbour_up, Now}, S1))
            end;
        #{} ->
            S0
    end;
event({peer_down, Name, _Reason}, S0) ->
    S1 = lost(Name, neighbour_failed, S0),
    case S0#state.linked of
        #{Name := _} -> seek_later(try_last(Name, S1));
        #{} -> S1
    end;
event({timer, greet}, S) ->
    greet(drop_silent(S));
event({timer, seek}, S) ->
    seek(S);
event(leave, S0) ->
    S1 = lists:foldl(
        fun(#{name := Name} = Peer, S) ->
            emit({disconnect, Name}, emit({neighbour_down, Name}, emit({send, Peer, bye}, S)))
        end,
        S0,
        neighbours(S0)
    ),
    S1#state{linked = #{}, leaving = true}.

%% Internals: links.

greet(S0) ->
    S1 = seek(S0),
    S2 = lists:foldl(
        fun(Server, S) -> emit({send, Server, hello}, S) end,
        S1,
        [Peer || #{name := Name} = Peer <- S1#state.servers, is_map_key(Name, S1#state.linked)]
    ),
    emit({start_timer, greet, option(greeting_interval, S2)}, S2).

%% A server wants all other servers, a client wants one.
seek(#state{role = server, servers = Servers} = S) ->
    lists:foldl(fun dial/2, S, Servers);
seek(#state{role = client, servers = [First | _], linked = Linked} = S) when Linked =:= #{} ->
    dial(First, S);
seek(#state{role = client} = S) ->
    S.

dial(#{name := Name} = Peer, #state{linked = Linked} = S0) ->
    case Linked of
        #{Name := _} ->
            S0;
        #{} ->
            S1 = S0#state{linked = Linked#{Name => {pending, Peer}}},
            emit({send, Peer, hello}, emit({connect, Peer}, S1))
    end.

seek_later(#state{failures = Failures} = S) ->
    Delay = min(option(redial_delay, S) bsl min(Failures, 16), option(redial_max, S)),
    emit({start_timer, seek, Delay}, S#state{failures = Failures + 1}).

%% A greeting: only servers take one, from clients and servers alike.
accept(_From, #state{role = client} = S) ->
    S;
accept(#{name := Name} = From, #state{linked = Linked} = S0) ->
    S = heard(Name, S0),
    case Linked of
        #{Name := {_, Known}} ->
            case partisan_peer:supersedes(From, Known) of
                true when map_get(incarnation, Known) > 0 -> link_back(From, relink(Name, S));
                _ -> S
            end;
        #{} ->
            link_back(From, S)
    end.

link_back(#{name := Name} = Peer, #state{linked = Linked} = S) ->
    emit({connect, Peer}, S#state{linked = Linked#{Name => {pending, Peer}}}).

heard(Name, #state{servers = Servers, silence = Silence} = S) ->
    case [Name || #{name := N} <- Servers, N =:= Name] of
        [] -> S#state{silence = Silence#{Name => 0}};
        [_Server] -> S
    end.

drop_silent(#state{silence = Silence0} = S0) ->
    Silence = maps:map(fun(_, Periods) -> Periods + 1 end, Silence0),
    Patience = option(patience, S0),
    maps:fold(
        fun
            (Name, Periods, S) when Periods > Patience ->
                lost(Name, neighbour_left, emit({disconnect, Name}, S));
            (_, _, S) ->
                S
        end,
        S0#state{silence = Silence},
        Silence
    ).

relink(Name, S) ->
    lost(Name, neighbour_failed, emit({disconnect, Name}, S)).

lost(Name, Why, #state{linked = Linked, silence = Silence} = S0) ->
    S1 = S0#state{linked = maps:remove(Name, Linked), silence = maps:remove(Name, Silence)},
    case Linked of
        #{Name := {up, _}} -> emit({count, Why}, emit({neighbour_down, Name}, S1));
        #{} -> S1
    end.

%% The server that was just lost is the last one to try again.
try_last(Name, #state{servers = Servers} = S) ->
    {Lost, Others} = lists:partition(fun(#{name := N}) -> N =:= Name end, Servers),
    S#state{servers = Others ++ Lost}.

rotate(_By, []) ->
    [];
rotate(By, List) ->
    {Front, Back} = lists:split(By rem length(List), List),
    Back ++ Front.

%% Internals: options, effects.

option(Name, #state{options = Options}) ->
    maps:get(Name, Options).

defaults() ->
    #{greeting_interval => 5000, patience => 3, redial_delay => 250, redial_max => 5000}.

emit(Effect, #state{out = Out} = S) ->
    S#state{out = [Effect | Out]}.

flush(#state{out = Out} = S) ->
    {S#state{out = []}, lists:reverse(Out)}.
