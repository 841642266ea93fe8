%%% Cases: a supervisor of OTP here, with a child on another node.
-module(comparison_supervision).

-export([cases/0]).
%% For supervisors.
-export([start/2]).

-import(comparison_run, [b/0, absent/0]).

cases() ->
    [
        {"supervisor:start_link/2", Title, Kind, fun(S) ->
            false = process_flag(trap_exit, true),
            Supervisor = supervise([b()], Options),
            Run(S, Supervisor, child())
        end}
     || {Title, Kind, Options, Run} <- ends() ++ shutdowns()
    ] ++ starts() ++ losses().

%% The child ends.
ends() ->
    [
        {"a permanent child ends " ++ Title ++ ", and is restarted", Kind, #{}, fun(S, Sup, C) ->
            _ = S:send(C, {stop, Reason}),
            {child() =/= C, children(Sup)}
        end}
     || {Title, Kind, Reason} <- [{"normally", ok, normal}, {"with a reason", error, oops}]
    ] ++
        [
            {"a transient child that ends with a reason is restarted", error,
                #{restart => transient}, fun(S, Sup, Child) ->
                    _ = S:send(Child, {stop, oops}),
                    {child() =/= Child, children(Sup)}
                end},
            {"a transient child that ends normally is not", ok, #{restart => transient},
                fun(S, Sup, Child) ->
                    _ = S:send(Child, {stop, normal}),
                    without_child(Sup)
                end},
            {"a temporary child is not", error, #{restart => temporary}, fun(S, Sup, Child) ->
                _ = S:send(Child, {stop, oops}),
                without_child(Sup)
            end},
            {"a child ends too often", error, #{}, fun(S, Sup, Child) ->
                _ = S:send(Child, {stop, oops}),
                _ = S:send(child(), {stop, oops}),
                receive {'EXIT', Sup, Reason} -> Reason end
            end}
        ].

%% The supervisor ends it.
shutdowns() ->
    [
        {Title, Kind, Options, fun(S, Sup, Child) ->
            Monitor = S:monitor(process, Child),
            ok = comparison_monitors:established(S),
            _ = End(Sup),
            receive {'DOWN', Monitor, process, _, Reason} -> Reason end
        end}
     || {Title, Kind, Options, End} <- [
            {"a child is terminated", ok, #{}, fun terminate/1},
            {"a child is killed", error, #{shutdown => brutal_kill}, fun terminate/1},
            {"the supervisor stops", ok, #{}, fun(Sup) -> gen_server:stop(Sup) end},
            {"the supervisor is killed", error, #{}, fun(Sup) -> exit(Sup, kill) end}
        ]
    ] ++
        [
            {"a child is terminated and restarted", ok, #{}, fun(_S, Sup, Child) ->
                ok = terminate(Sup),
                {ok, _} = restart(Sup),
                {child() =/= Child, children(Sup)}
            end}
        ].

starts() ->
    [
        {"supervisor:start_link/2", "a child on an absent node", error, fun(_S) ->
            false = process_flag(trap_exit, true),
            {ok, Sup} = supervisor:start_link(comparison_supervisor, {#{}, []}),
            Spec = spec([absent()], #{restart => temporary}),
            supervisor:start_child(Sup, Spec)
        end}
    ].

losses() ->
    [
        {"supervisor:start_link/2", "the child's node is killed, the next is the own", loss,
            fun(S, Node, Ready) ->
                false = process_flag(trap_exit, true),
                Sup = supervise([Node, S:own_node()], #{}),
                Child = child(),
                Ready(),
                {child() =/= Child, children(Sup)}
            end}
    ].

%% A start function of a child: on the next of these nodes.
start(Key, Own) ->
    [Node | Later] = persistent_term:get({?MODULE, Key}),
    ok = persistent_term:put({?MODULE, Key}, Later ++ [Node]),
    (comparison_run:system()):child(Node, child, [Own]).

supervise(Nodes, Options) ->
    Children = {#{}, [spec(Nodes, Options)]},
    {ok, Sup} = supervisor:start_link(comparison_supervisor, Children),
    Sup.

spec(Nodes, Options) ->
    Key = make_ref(),
    ok = persistent_term:put({?MODULE, Key}, Nodes),
    Own = (comparison_run:system()):own(),
    Options#{id => id, start => {?MODULE, start, [Key, Own]}}.

%% The child that has started.
child() ->
    receive {child, Child} -> Child end.

terminate(Sup) -> supervisor:terminate_child(Sup, id).

restart(Sup) ->
    case supervisor:restart_child(Sup, id) of
        {ok, Pid, _Info} -> {ok, Pid};
        Result -> Result
    end.

%% Not `count_children/1', in which OTP's supervisor fails for a process of another node.
children(Sup) -> supervisor:which_children(Sup).

%% What a supervisor has once it has no running child.
without_child(Sup) ->
    case children(Sup) of
        [{_, Pid, _, _}] when is_pid(Pid) -> without_child(Sup);
        Children -> Children
    end.
