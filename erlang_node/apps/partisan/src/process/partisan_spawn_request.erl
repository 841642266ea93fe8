%%% @doc Requests to spawn processes on other nodes: `spawn_opt' and `spawn_request' of
%%% {@link partisan_erlang}, and what is made of them.
%%%
%%% Each request has a process here, which asks the other node ({@link partisan_spawned}), reports
%%% to the caller and, if the new process is linked, stays as the keeper of the link. A request that
%%% is not in the table has ended or was abandoned: the process that takes it out decides which.
-module(partisan_spawn_request).

-compile({no_auto_import, [spawn/3]}).

-export([init/0]).
-export([spawn/3]).
-export([spawn_child/2]).
-export([request/3]).
-export([abandon/1]).

%% Requests under way: `{{Caller :: pid(), reference()}}'.
-define(REQUESTS, ?MODULE).

%% Others are those of `erlang:spawn_opt/2', for the other node.
-type option() :: link | monitor | {monitor, [partisan_remote:monitor_option()]} | term().
-type request_option() ::
    option() | {reply, yes | no | error_only | success_only} | {reply_tag, term()}.
-export_type([option/0, request_option/0]).

-record(request, {
    caller :: pid(),
    % Of the monitor too.
    reference :: reference(),
    node :: partisan_peer:name(),
    work :: partisan_execution:work(),
    is_linked = false :: boolean(),
    is_child = false :: boolean(),
    monitor = none :: none | partisan_remote:monitor_options(),
    reply = yes :: yes | no | error_only | success_only,
    tag = spawn_reply :: term(),
    % For the other node.
    options = [] :: [term()]
}).

%% @doc Creates the table of requests, owned by the caller. Idempotent.
-spec init() -> ok.
init() ->
    _ = ets:whereis(?REQUESTS) =:= undefined andalso
        ets:new(?REQUESTS, [named_table, public, set]),
    ok.

%% @doc Spawns a process and waits until it exists. If the node is lost, the process is none, and a
%% link or monitor reports `noconnection'. Fails with `badarg' for options that the node does not
%% know, `{not_allowed, Module}' or `system_limit'.
-spec spawn(partisan_peer:name(), partisan_execution:work(), [option()]) ->
    partisan_ref:t() | {partisan_ref:t(), Monitor :: reference()}.
spawn(Node, Work, Options) ->
    Request = parsed(Node, Work, [{reply, yes}, {reply_tag, ?MODULE} | Options]),
    Process =
        case await(Request) of
            {ok, Spawned} -> Spawned;
            {error, noconnection} -> absent(Request);
            {error, badopt} -> error(badarg);
            {error, Reason} -> error(Reason)
        end,
    case Request of
        #request{monitor = none} -> Process;
        #request{reference = Monitor} -> {Process, Monitor}
    end.

%% @doc Spawns the guard of a child ({@link partisan_child}), linked with the caller; returns it
%% with what it has made of the child's start.
-spec spawn_child(partisan_peer:name(), partisan_execution:work()) ->
    {ok, Guard :: partisan_ref:t(), partisan_child:result()} | {error, Reason :: term()}.
spawn_child(Node, Work) ->
    Request = parsed(Node, Work, [link, {reply_tag, ?MODULE}]),
    case await(Request#request{is_child = true}) of
        {ok, {Guard, Result}} -> {ok, Guard, Result};
        {error, _} = Error -> Error
    end.

%% @doc Requests a process. The caller gets `{Tag, Reference, ok, Process}', or `{Tag, Reference,
%% error, Reason}' with `noconnection', `badopt', `{not_allowed, Module}' or `system_limit'. The
%% reference is that of the monitor too, if it is asked for.
-spec request(partisan_peer:name(), partisan_execution:work(), [request_option()]) -> reference().
request(Node, Work, Options) ->
    Request = parsed(Node, Work, Options),
    _ = erlang:spawn(asker(Request)),
    Request#request.reference.

%% @doc Abandons a request of the caller; returns whether it was under way. The process may exist
%% nevertheless: if it was to be linked, it gets the exit signal `abandoned'. Fails with `badarg'
%% for what is no reference.
-spec abandon(reference()) -> boolean().
abandon(Reference) when is_reference(Reference) ->
    ets:take(?REQUESTS, {self(), Reference}) =/= [];
abandon(_) ->
    error(badarg).

%% Internals.

await(#request{reference = Reference} = Request) ->
    {Asker, Ended} = erlang:spawn_monitor(asker(Request)),
    receive
        {?MODULE, Reference, Kind, Answer} ->
            true = demonitor(Ended, [flush]),
            {Kind, Answer};
        {'DOWN', Ended, process, Asker, Reason} ->
            {error, Reason}
    end.

%% Internals: options.

parsed(Node, Work, Options) ->
    is_binary(Node) andalso is_work(Work) orelse error(badarg),
    % Fails with `badarg' for what is no list.
    _ = length(Options),
    Request = #request{caller = self(), reference = make_ref(), node = Node, work = Work},
    lists:foldl(fun parse/2, Request, lists:reverse(Options)).

is_work({Module, Function, Arguments}) ->
    is_atom(Module) andalso is_atom(Function) andalso is_list(Arguments);
is_work(Fun) ->
    is_function(Fun, 0).

parse(link, Request) ->
    Request#request{is_linked = true};
parse(monitor, Request) ->
    Request#request{monitor = #{}};
parse({monitor, Options}, Request) ->
    Monitor = partisan_remote:monitor_options(Options),
    Reference = maps:get(reference, Monitor, Request#request.reference),
    Request#request{monitor = Monitor, reference = Reference};
parse({reply, Reply}, Request) when
    Reply =:= yes; Reply =:= no; Reply =:= error_only; Reply =:= success_only
->
    Request#request{reply = Reply};
parse({reply_tag, Tag}, Request) ->
    Request#request{tag = Tag};
parse(Option, #request{options = Options} = Request) ->
    Request#request{options = [Option | Options]}.

%% Internals: the process that asks.

%% The request is in the table before the caller can abandon it.
asker(#request{caller = Caller, reference = Reference, is_linked = IsLinked} = Request) ->
    true = ets:insert(?REQUESTS, {{Caller, Reference}}),
    fun() ->
        false = process_flag(trap_exit, IsLinked),
        % Before the caller may end without a trace.
        _ = IsLinked andalso link(Caller),
        Answer = ask(Request),
        case ets:take(?REQUESTS, {Caller, Reference}) of
            [_] -> answered(Answer, Request);
            [] -> abandoned(Answer, Request)
        end
    end.

ask(#request{caller = Caller, node = Node, work = Work, options = Options} = Request) ->
    #request{is_linked = IsLinked, is_child = IsChild, monitor = Monitor} = Request,
    Link =
        case IsLinked of
            true -> {partisan_ref:of_local(Caller), partisan_ref:for_answer()};
            false -> none
        end,
    Mode =
        case {IsChild, Link} of
            {true, {Linker, Keeper}} -> {child, Linker, Keeper};
            {false, _} -> partisan_spawned:mode(Options, Link, Monitor =/= none)
        end,
    partisan_execution:call(Node, Mode, Work, infinity).

answered({ok, Spawned}, #request{caller = Caller, is_child = IsChild} = Request) ->
    {Process, LinkKeeper, MonitorKeeper} = partisan_spawned:keepers(Spawned),
    Answer =
        case IsChild of
            true -> {Process, MonitorKeeper};
            false -> Process
        end,
    Reply = reply({ok, Answer}, Request),
    Announce = fun() -> announce(Process, MonitorKeeper, Reply, Request) end,
    case Request of
        #request{is_linked = true} ->
            partisan_spawned:linked(Caller, Process, LinkKeeper, Announce);
        #request{} ->
            Announce()
    end;
answered({error, Reason}, #request{caller = Caller} = Request) ->
    true = unlink(Caller),
    send(Caller, reply({error, reason(Reason)}, Request)).

%% The reply comes before the end of the process, and after the monitor exists.
announce(_Process, _Keeper, Reply, #request{caller = Caller, monitor = none}) ->
    send(Caller, Reply);
announce(Process, Keeper, Reply, #request{caller = Caller, reference = Reference} = Request) ->
    Monitor = maps:merge(
        Request#request.monitor,
        #{owner => Caller, reference => Reference, object => Process, first => Reply}
    ),
    try
        Reference = partisan_remote:monitor(Keeper, Monitor),
        ok
    catch
        error:system_limit -> send(Caller, reply({error, system_limit}, Request))
    end.

abandoned({ok, _}, #request{caller = Caller, is_linked = true}) ->
    true = unlink(Caller),
    partisan_spawned:ended(abandoned);
abandoned(_Answer, #request{caller = Caller}) ->
    true = unlink(Caller),
    ok.

%% The messages to the caller: one or none.
reply({Kind, Term}, #request{reply = Wanted, tag = Tag, reference = Reference}) ->
    IsWanted =
        case Wanted of
            yes -> true;
            no -> false;
            error_only -> Kind =:= error;
            success_only -> Kind =:= ok
        end,
    [{Tag, Reference, Kind, Term} || IsWanted].

send(Caller, Messages) ->
    lists:foreach(fun(Message) -> Caller ! Message end, Messages).

reason({nodedown, _}) -> noconnection;
reason(timeout) -> noconnection;
reason(Reason) -> Reason.

%% The node is lost: what a link or monitor of the caller reports.
absent(#request{node = Node, is_linked = IsLinked, monitor = Monitor} = Request) ->
    Absent = partisan_ref:nowhere(Node),
    Caller = self(),
    Signal = fun() -> partisan_spawned:signal(Caller, Absent, noconnection) end,
    _ = IsLinked andalso erlang:spawn_link(Signal),
    _ = Monitor =/= none andalso
        partisan_remote:monitor(Absent, Monitor#{reference => Request#request.reference}),
    Absent.
