%%% @doc Client-server: servers know one another, every client knows one server.
%%%
%%% Clients spread over the servers by a hash of their name. A client that loses its server moves on
%%% to the next one, with back-off, until one answers. It greets its server once per period: the
%%% greeting makes a server that lost the client, or was restarted, link back, and its absence shows
%%% that the client has moved to another server. Servers keep dialling one another for as long as
%%% they are configured.
-module(partisan_overlay_client_server).
-behaviour(partisan_overlay).

-export([init/1]).
-export([handle/2]).
-export([neighbours/1]).
-export([passive/1]).

-import(partisan_layer, [emit/2, option/2]).

-type options() :: #{
    self := partisan_peer:t(),
    seed := {integer(), integer(), integer()},
    % Server names; their address hints are among the seeds.
    servers := [partisan_peer:name()],
    seeds := [partisan_peer:t()],
    % The servers that a client links to.
    attach => one | all,
    greeting_interval => pos_integer(),
    % Periods without a greeting after which a server drops a client.
    patience => pos_integer(),
    redial_delay => pos_integer(),
    redial_max => pos_integer(),
    _ => _
}.

-type msg() :: hello | bye.

-export_type([options/0, msg/0]).

%% In addition to the common fields of a layer.
-opaque state() :: #{
    role := client | server,
    % Address hints of the other servers, in the order this node tries them.
    servers := [partisan_peer:t()],
    % Pinned links; `up' once connected.
    linked := #{partisan_peer:name() => {pending | up, partisan_peer:t()}},
    % Periods since each client's last greeting.
    silence := #{partisan_peer:name() => non_neg_integer()},
    failures := non_neg_integer(),
    _ => _
}.

-export_type([state/0]).

%% API.

%% @private
-spec init(options()) -> {state(), [partisan_overlay:effect()]}.
init(#{self := #{name := Name}, servers := Names, seeds := Seeds} = Given) ->
    Others = [Seed || #{name := N} = Seed <- Seeds, lists:member(N, Names), N =/= Name],
    Own = #{
        role =>
            case lists:member(Name, Names) of
                true -> server;
                false -> client
            end,
        servers => rotate(erlang:phash2(Name), Others),
        linked => #{},
        silence => #{},
        failures => 0
    },
    partisan_layer:started(greet(partisan_layer:new(defaults(), Given, Own))).

%% @private
-spec handle(partisan_overlay:event(), state()) -> {state(), [partisan_overlay:effect()]}.
handle(Event, S) ->
    partisan_layer:handle(fun event/2, Event, S).

%% @private
-spec neighbours(state()) -> [partisan_peer:t()].
neighbours(#{linked := Linked}) ->
    [Peer || {up, Peer} <- maps:values(Linked)].

%% @doc The servers this node would try next.
-spec passive(state()) -> [partisan_peer:t()].
passive(#{servers := Servers, linked := Linked}) ->
    [Peer || #{name := Name} = Peer <- Servers, not is_map_key(Name, Linked)].

%% Events.

%% The servers are configured: no other contact is worth joining.
event({join, _Contact}, S) ->
    S;
event({message, From, hello}, S) ->
    accept(From, S);
event({message, #{name := Name, incarnation := Incarnation}, bye}, S) ->
    case map_get(linked, S) of
        #{Name := {_, #{incarnation := Known}}} when Known =< Incarnation ->
            lost(Name, neighbour_left, emit({disconnect, Name}, S));
        #{} ->
            S
    end;
event({peer_up, #{name := Name} = Peer}, #{linked := Linked} = S0) ->
    case Linked of
        #{Name := {Status, Known}} ->
            Now = partisan_peer:newest(Known, Peer),
            S1 = S0#{linked := Linked#{Name := {up, Now}}, failures := 0},
            case Status of
                up -> S1;
                pending -> partisan_layer:neighbour_up(Now, S1)
            end;
        #{} ->
            S0
    end;
event({peer_down, Name, _Reason}, S0) ->
    S1 = lost(Name, neighbour_failed, S0),
    case map_get(linked, S0) of
        #{Name := _} -> seek_later(try_last(Name, S1));
        #{} -> S1
    end;
event({timer, greet}, S) ->
    greet(drop_silent(S));
event({timer, seek}, S) ->
    seek(S);
event(leave, S0) ->
    S1 = partisan_layer:part(neighbours(S0), bye, S0),
    S1#{linked := #{}}.

%% Internals: links.

greet(S0) ->
    S1 = seek(S0),
    #{servers := Servers, linked := Linked} = S1,
    Greeted = [Server || #{name := Name} = Server <- Servers, is_map_key(Name, Linked)],
    S2 = partisan_layer:send_all(Greeted, hello, S1),
    emit({start_timer, greet, option(greeting_interval, S2)}, S2).

%% A server wants all other servers, a client wants one, or all.
seek(#{role := Role, servers := Servers, linked := Linked} = S) ->
    case {Role, option(attach, S), Servers} of
        {client, one, [First | _]} when Linked =:= #{} -> dial(First, S);
        {client, one, _} -> S;
        {_, _, _} -> lists:foldl(fun dial/2, S, Servers)
    end.

dial(#{name := Name} = Peer, #{linked := Linked} = S0) ->
    case Linked of
        #{Name := _} ->
            S0;
        #{} ->
            S1 = S0#{linked := Linked#{Name => {pending, Peer}}},
            emit({send, Peer, hello}, emit({connect, Peer}, S1))
    end.

seek_later(#{failures := Failures} = S) ->
    Seek = {start_timer, seek, partisan_layer:backoff(Failures, S)},
    emit(Seek, S#{failures := Failures + 1}).

%% Only servers accept greetings, from clients and servers alike.
accept(_From, #{role := client} = S) ->
    S;
accept(#{name := Name} = From, #{linked := Linked} = S0) ->
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

link_back(#{name := Name} = Peer, #{linked := Linked} = S) ->
    emit({connect, Peer}, S#{linked := Linked#{Name => {pending, Peer}}}).

heard(Name, #{servers := Servers, silence := Silence} = S) ->
    case [Name || #{name := N} <- Servers, N =:= Name] of
        [] -> S#{silence := Silence#{Name => 0}};
        [_Server] -> S
    end.

drop_silent(#{silence := Silence0} = S0) ->
    Silence = maps:map(fun(_, Periods) -> Periods + 1 end, Silence0),
    Allowed = option(patience, S0),
    maps:fold(
        fun
            (Name, Periods, S) when Periods > Allowed ->
                lost(Name, neighbour_left, emit({disconnect, Name}, S));
            (_, _, S) ->
                S
        end,
        S0#{silence := Silence},
        Silence
    ).

relink(Name, S) ->
    lost(Name, neighbour_failed, emit({disconnect, Name}, S)).

lost(Name, Why, #{linked := Linked, silence := Silence} = S0) ->
    S1 = S0#{linked := maps:remove(Name, Linked), silence := maps:remove(Name, Silence)},
    case Linked of
        #{Name := {up, _}} -> partisan_layer:neighbour_down(Name, Why, S1);
        #{} -> S1
    end.

%% The server just lost is tried last.
try_last(Name, #{servers := Servers} = S) ->
    {Lost, Others} = lists:partition(fun(#{name := N}) -> N =:= Name end, Servers),
    S#{servers := Others ++ Lost}.

rotate(_By, []) ->
    [];
rotate(By, List) ->
    {Front, Back} = lists:split(By rem length(List), List),
    Back ++ Front.

defaults() ->
    #{
        attach => one,
        greeting_interval => 5000,
        patience => 3,
        redial_delay => 250,
        redial_max => 5000
    }.
