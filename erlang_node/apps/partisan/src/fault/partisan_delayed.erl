%%% @doc Delayed messages to one peer on one channel: a process that sends each when it is due.
%%%
%%% Those that are due at the same time leave in the order in which they came. A lane without room
%%% holds up the others of this process only.
-module(partisan_delayed).

-export([start_link/0]).
-export([hold/4]).
-export([finish/1]).
-export([init/0]).

%% By the time at which they are due, in milliseconds of monotonic time, and by arrival.
-type held() :: gb_trees:tree(
    {Due :: integer(), pos_integer()}, {Bytes :: non_neg_integer(), fun(() -> term())}
).

%% @doc Starts the process, linked to the caller.
-spec start_link() -> pid().
start_link() ->
    proc_lib:spawn_link(?MODULE, init, []).

%% @doc Passes it a message of so many bytes, and the function that sends it.
-spec hold(pid(), Due :: integer(), Bytes :: non_neg_integer(), fun(() -> term())) -> ok.
hold(Pid, Due, Bytes, Send) ->
    Pid ! {hold, Due, Bytes, Send},
    ok.

%% @doc Ends it once it has sent everything.
-spec finish(pid()) -> ok.
finish(Pid) ->
    Pid ! finish,
    ok.

%% @private
-spec init() -> ok.
init() ->
    loop(1, gb_trees:empty(), false).

%% Internals.

-spec loop(Next :: pos_integer(), held(), IsFinishing :: boolean()) -> ok.
loop(Next, Held, IsFinishing) ->
    case gb_trees:is_empty(Held) andalso IsFinishing of
        true -> ok;
        false -> await(Next, Held, IsFinishing)
    end.

await(Next, Held, IsFinishing) ->
    receive
        {hold, Due, Bytes, Send} ->
            loop(Next + 1, gb_trees:insert({Due, Next}, {Bytes, Send}, Held), IsFinishing);
        finish ->
            loop(Next, Held, true)
    after wait(Held) ->
        {_, {Bytes, Send}, Later} = gb_trees:take_smallest(Held),
        ok = partisan_injection:released(Bytes),
        ok = send(Send),
        loop(Next, Later, IsFinishing)
    end.

wait(Held) ->
    case gb_trees:is_empty(Held) of
        true ->
            infinity;
        false ->
            {{Due, _}, _} = gb_trees:smallest(Held),
            max(0, Due - erlang:monotonic_time(millisecond))
    end.

%% The runtime may be stopping: the process that started this one must not end with it.
send(Send) ->
    try
        _ = Send(),
        ok
    catch
        Class:Reason ->
            logger:warning("partisan: a delayed message was lost: ~0tP", [{Class, Reason}, 12])
    end.
