%%% Starts the processes that cases use, on the node where they are used: each case has its own.
-module(comparison_fixture).
-behaviour(gen_server).

-export([start/1, init/1, handle_call/3, handle_cast/2]).

%% Of this system, which makes references to the processes.
start(System) ->
    gen_server:start({local, fixture}, ?MODULE, System, []).

init(System) ->
    {ok, System}.

handle_call({echo, Term}, _From, System) ->
    {reply, Term, System};
handle_call({member, Scope, Group}, _From, System) ->
    {ok, Pid} = start(process, name()),
    ok = (System:pg()):join(Scope, Group, Pid),
    {reply, System:reference(Pid), System};
handle_call({scope, start, Scope}, _From, System) ->
    {ok, _} = (System:pg()):start(Scope),
    {reply, ok, System};
handle_call({scope, stop, Scope}, _From, System) ->
    {reply, gen_server:stop(Scope), System};
handle_call({scope, kill, Scope}, _From, System) ->
    Monitor = monitor(process, Scope),
    true = exit(whereis(Scope), kill),
    receive {'DOWN', Monitor, process, _, _} -> {reply, ok, System} end;
handle_call({named, Kind, Name}, _From, System) ->
    {ok, Pid} = start(Kind, name()),
    yes = (System:global()):register_name(Name, Pid),
    {reply, System:reference(Pid), System};
handle_call({whereis, Name}, _From, System) ->
    {reply, (System:global()):whereis_name(Name), System};
handle_call({start, Kind}, _From, System) ->
    Name = name(),
    {ok, Pid} = start(Kind, Name),
    {reply, {Name, System:reference(Pid)}, System}.

%% Processes of an earlier run may still be there.
name() ->
    list_to_atom("fixture_" ++ integer_to_list(erlang:unique_integer([positive]))).

handle_cast(_, State) ->
    {noreply, State}.

start(server, Name) ->
    gen_server:start({local, Name}, comparison_server, [], []);
start(statem, Name) ->
    gen_statem:start({local, Name}, comparison_statem, [], []);
start(event, Name) ->
    {ok, Pid} = gen_event:start({local, Name}),
    ok = gen_event:add_handler(Pid, comparison_handler, []),
    {ok, Pid};
start(supervisor, Name) ->
    {ok, Pid} = supervisor:start_link({local, Name}, comparison_supervisor, []),
    true = unlink(Pid),
    {ok, Pid};
start(process, Name) ->
    Pid = spawn(fun() -> process([]) end),
    true = register(Name, Pid),
    {ok, Pid}.

%% Answers no calls, shows what it has received, and ends when it is asked to.
process(Seen) ->
    receive
        {seen, From, Tag} ->
            _ = answer(From, {Tag, lists:reverse(Seen)}),
            process(Seen);
        {stop, Reason} ->
            exit(Reason);
        Message ->
            process([Message | Seen])
    end.

answer(Pid, Message) when is_pid(Pid) -> Pid ! Message;
answer(Ref, Message) -> partisan:forward(Ref, Message).
