%%% @doc The calls of other nodes that are being served here: the places that they occupy.
%%%
%%% A call has a process of its own ({@link partisan_call:serve/1}), and is known by the reference
%%% that its answer goes to. It occupies its place until that process ends.
-module(partisan_served).

-compile({no_auto_import, [size/1]}).

-export([new/0]).
-export([add/3]).
-export([cancel/3]).
-export([ended/2]).
-export([lost/2]).
-export([is_caller/2]).
-export([size/1]).

-define(MAX_CALLS, 10000).

-type name() :: partisan_peer:name().

-record(served, {
    max :: pos_integer(),
    calls = #{} :: #{Monitor :: reference() => {name(), partisan_ref:t()}},
    callers = #{} :: #{name() => #{partisan_ref:t() => pid()}}
}).

-opaque t() :: #served{}.
-export_type([t/0]).

%% @doc No calls; and no more than a quarter of the processes that the emulator allows.
-spec new() -> t().
new() ->
    #served{max = min(?MAX_CALLS, erlang:system_info(process_limit) div 4)}.

%% @doc Serves a call, or refuses it where there is no place. What is refused must not cost a
%% process: those are what a flood exhausts.
-spec add(partisan_call:request(), name(), t()) -> {ok, t()} | full.
add(#{reply_to := Id} = Request, Node, #served{calls = Calls, callers = Callers, max = Max} = S) ->
    try map_size(Calls) < Max andalso partisan_call:serve(Request) of
        {Pid, Monitor} ->
            Theirs = maps:get(Node, Callers, #{}),
            {ok, S#served{
                calls = Calls#{Monitor => {Node, Id}},
                callers = Callers#{Node => Theirs#{Id => Pid}}
            }};
        false ->
            refuse(Request)
    catch
        % The emulator has no process left.
        error:system_limit -> refuse(Request)
    end.

%% @doc A node waits for that answer no longer.
-spec cancel(name(), partisan_ref:t(), t()) -> ok.
cancel(Node, Id, #served{callers = Callers}) ->
    case Callers of
        #{Node := #{Id := Pid}} -> kill(Pid);
        #{} -> ok
    end.

%% @doc A process has ended: that of a call of which node? `error' where it was none of these.
-spec ended(Monitor :: reference(), t()) -> {name(), t()} | error.
ended(Monitor, #served{calls = Calls0, callers = Callers} = S) ->
    case maps:take(Monitor, Calls0) of
        {{Node, Id}, Calls} ->
            Others = partisan_wanted:without(Node, Id, Callers),
            {Node, S#served{calls = Calls, callers = Others}};
        error ->
            error
    end.

%% @doc The node is lost: it waits for no answer.
-spec lost(name(), t()) -> ok.
lost(Node, #served{callers = Callers}) ->
    lists:foreach(fun kill/1, maps:values(maps:get(Node, Callers, #{}))).

%% @doc Are calls of that node being served?
-spec is_caller(name(), t()) -> boolean().
is_caller(Node, #served{callers = Callers}) ->
    is_map_key(Node, Callers).

%% @doc The number of calls being served.
-spec size(t()) -> non_neg_integer().
size(#served{calls = Calls}) ->
    map_size(Calls).

%% Internals.

refuse(Request) ->
    ok = partisan_call:refuse(Request, system_limit),
    full.

kill(Pid) ->
    true = exit(Pid, kill),
    ok.
