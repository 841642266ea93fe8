%%% Runs cases on a node.
-module(comparison_run).

-export([roles/0, system/0, prepare/3, finish/0, all/1]).
%% For cases.
-export([b/0, c/0, absent/0, fixture/1, fixture/2, mailbox/0, ended/2]).

%% Milliseconds until a case that has not ended is an outcome of its own: longer than the calls of
%% cases wait, which is a minute. Both are long for a busy machine; no case needs them.
-define(LIMIT, 90000).
%% Cases that run at the same time.
-define(AT_A_TIME, 16).

%% The nodes by their role: the one of the cases, another, one more, one that will be killed, and
%% one that does not exist.
prepare(System, Configuration, Nodes) ->
    ok = System:start(Configuration),
    ok = persistent_term:put(?MODULE, {System, Nodes}),
    {ok, _} = comparison_fixture:start(System),
    {ok, _} = (System:pg()):start(comparison),
    ok.

finish() ->
    ok = gen_server:stop(fixture),
    ok = gen_server:stop(comparison),
    (system()):stop().

roles() -> element(2, persistent_term:get(?MODULE)).

system() -> element(1, persistent_term:get(?MODULE)).

b() -> maps:get(node_b, roles()).

c() -> maps:get(node_c, roles()).

absent() -> maps:get(node_absent, roles()).

%% The outcomes of all cases. Those in which a node is lost are started first; it is killed when
%% they all wait for that, while the others run.
all(Victim) ->
    {Losses, Others} = lists:partition(
        fun({_, _, Kind, _}) -> Kind =:= loss end, comparison_cases:all()
    ),
    Starter = self(),
    Ready = fun() -> Starter ! {ready, self()} end,
    Node = maps:get(node_victim, roles()),
    Waiting = [
        start({Call, Title, loss, fun(S) -> Fun(S, Node, Ready) end})
     || {Call, Title, loss, Fun} <- Losses
    ],
    _ = [receive {ready, Pid} -> ok after ?LIMIT -> error(Key) end || {Key, {Pid, _}} <- Waiting],
    "" = os:cmd("kill -KILL " ++ Victim),
    {Some, Rest} = lists:split(?AT_A_TIME, Others),
    window([start(Case) || Case <- Some], Rest) ++ [outcome(Started) || Started <- Waiting].

%% As one case ends, the next begins, so that none waits for a slow one.
window([], []) -> [];
window(Running, Rest) ->
    receive
        {'DOWN', Monitor, process, Pid, Outcome} ->
            case lists:keytake({Pid, Monitor}, 2, Running) of
                {value, {Key, _}, Others} ->
                    {Next, Later} = lists:split(min(1, length(Rest)), Rest),
                    Started = [start(Case) || Case <- Next],
                    [{Key, Outcome} | window(Others ++ Started, Later)];
                false ->
                    % That of a loss is read later.
                    self() ! {loss, Monitor, Outcome},
                    window(Running, Rest)
            end
    end.

start({Call, Title, _Kind, Fun}) ->
    System = system(),
    {{Call, Title}, spawn_monitor(fun() ->
        {ok, _} = timer:kill_after(?LIMIT),
        exit(comparison_outcome:of_call(fun() -> Fun(System) end))
    end)}.

outcome({Key, {Pid, Monitor}}) ->
    receive
        {'DOWN', Monitor, process, Pid, Outcome} -> {Key, Outcome};
        {loss, Monitor, Outcome} -> {Key, Outcome}
    end.

%% A process of this kind on the other node: its name and a reference.
fixture(Kind) ->
    fixture(Kind, b()).

fixture(Kind, Node) ->
    System = system(),
    {Name, Reference} = System:call({fixture, Node}, {start, Kind}, 60000),
    {{Name, Node}, Reference}.

mailbox() ->
    {messages, Messages} = process_info(self(), messages),
    Messages.

%% Ends a process and waits until it has ended.
ended(System, {Target, Reference}) ->
    Monitor = System:monitor(process, Reference),
    _ = System:send(Target, {stop, normal}),
    receive {'DOWN', Monitor, process, _, _} -> ok end.
