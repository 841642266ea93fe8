%%% @doc The process of one {@link partisan_broadcast_handler} on this node: runs its callbacks, one
%%% after another.
%%%
%%% Requests that wait are counted by their sender, so that the manager never looks into a message
%%% queue. A callback that fails loses that request alone.
-module(partisan_handler).

-export([start_link/2]).
-export([exchange/2]).
-export([count/2]).
-export([failed/2]).
-export([init/2]).

-type event() ::
    merged | stale | grafted | exchanged | failed | dropped | restarted.

%% @doc Starts the process. `Waiting' is decremented for every request that has been handled.
-spec start_link(module(), Waiting :: counters:counters_ref()) -> pid().
start_link(Handler, Waiting) ->
    proc_lib:spawn_link(?MODULE, init, [Handler, Waiting]).

%% @doc Starts a process that makes one exchange with a neighbour, and ends.
-spec exchange(module(), partisan_peer:name()) -> pid().
exchange(Handler, Neighbour) ->
    proc_lib:spawn_link(fun() ->
        ok = as_application(),
        case attempt(fun() -> Handler:exchange(Neighbour) end, Handler) of
            {ok, {ok, Pid}} when is_pid(Pid) -> await(Pid, Handler);
            {ok, {error, Reason}} -> failed(Handler, Reason);
            {ok, ignore} -> ok;
            {ok, ok} -> count(Handler, exchanged);
            {ok, Other} -> failed(Handler, {exchange, Other});
            failed -> ok
        end
    end).

%% @private
-spec init(module(), counters:counters_ref()) -> no_return().
init(Handler, Waiting) ->
    process_flag(message_queue_data, off_heap),
    ok = as_application(),
    loop(Handler, Waiting).

%% @doc Counts an event of a handler.
-spec count(module(), event()) -> ok.
count(Handler, Event) ->
    partisan_metrics:inc(partisan_broadcast_handler_events_total, [Handler, Event]).

%% @doc Counts and logs a failure of a handler.
-spec failed(module(), Reason :: term()) -> ok.
failed(Handler, Reason) ->
    ok = partisan_refusals:warn(
        handler, "the broadcast handler ~0p failed: ~0tP", [Handler, Reason, 20]
    ),
    count(Handler, failed).

%% Internals.

%% As a process of no application: what it sends is that of the user.
as_application() ->
    true = group_leader(whereis(user), self()),
    ok.

-spec loop(module(), counters:counters_ref()) -> no_return().
loop(Handler, Waiting) ->
    receive
        {?MODULE, Request} ->
            ok = handle(Request, Handler),
            ok = counters:sub(Waiting, 1, 1);
        _Left ->
            % A late answer to a callback.
            ok
    end,
    loop(Handler, Waiting).

handle({merge, Key, Data}, Handler) ->
    case attempt(fun() -> Handler:merge(Key, Data) end, Handler) of
        {ok, true} -> count(Handler, merged);
        {ok, false} -> count(Handler, stale);
        {ok, Other} -> failed(Handler, {merge, Other});
        failed -> ok
    end;
handle({is_stale, Key, Id}, Handler) ->
    case attempt(fun() -> Handler:is_stale(Key) end, Handler) of
        {ok, true} -> partisan_manager:handled({stale, Id});
        _ -> partisan_manager:handled({needed, Id})
    end;
handle({graft, Key, To, Id}, Handler) ->
    case attempt(fun() -> Handler:graft(Key) end, Handler) of
        {ok, {ok, Data}} -> grafted({Handler, Key}, Data, To, Id);
        {ok, stale} -> ok;
        {ok, {error, Reason}} -> failed(Handler, Reason);
        {ok, Other} -> failed(Handler, {graft, Other});
        failed -> ok
    end.

grafted({Handler, _} = Reference, Data, To, Id) ->
    case partisan_manager:fits(Reference, Data) of
        ok ->
            ok = count(Handler, grafted),
            partisan_manager:handled({grafted, To, Id, Data});
        {error, TooLarge} ->
            failed(Handler, TooLarge)
    end.

attempt(Callback, Handler) ->
    try
        {ok, Callback()}
    catch
        Class:Reason:Stacktrace ->
            ok = failed(Handler, {Class, Reason, Stacktrace}),
            failed
    end.

await(Pid, Handler) ->
    Monitor = monitor(process, Pid),
    receive
        {'DOWN', Monitor, process, Pid, Reason} when Reason =:= normal; Reason =:= noproc ->
            count(Handler, exchanged);
        {'DOWN', Monitor, process, Pid, Reason} ->
            failed(Handler, Reason)
    end.
