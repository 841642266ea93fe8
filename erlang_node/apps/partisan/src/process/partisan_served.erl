%%% @doc Calls of other nodes being served here, and their slots.
%%%
%%% A call has a process of its own ({@link partisan_call:serve/1}), and is identified by the
%%% reference for its answer. It occupies a slot until that process ends.
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

%% @doc No calls; at most a quarter of the processes that the emulator allows.
-spec new() -> t().
new() ->
    #served{max = min(?MAX_CALLS, erlang:system_info(process_limit) div 4)}.

%% @doc Serves a call, or refuses it if there is no slot. A refusal must not cost a process, since
%% processes are what a flood exhausts.
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

%% @doc Cancels the call with that answer.
-spec cancel(name(), partisan_ref:t(), t()) -> ok.
cancel(Node, Id, #served{callers = Callers}) ->
    case Callers of
        #{Node := #{Id := Pid}} -> kill(Pid);
        #{} -> ok
    end.

%% @doc A process has ended: returns the node whose call it served. `error' if it served none.
-spec ended(Monitor :: reference(), t()) -> {name(), t()} | error.
ended(Monitor, #served{calls = Calls0, callers = Callers} = S) ->
    case maps:take(Monitor, Calls0) of
        {{Node, Id}, Calls} ->
            Others = partisan_wanted:without(Node, Id, Callers),
            {Node, S#served{calls = Calls, callers = Others}};
        error ->
            error
    end.

%% @doc Cancels all calls of a lost node.
-spec lost(name(), t()) -> ok.
lost(Node, #served{callers = Callers}) ->
    lists:foreach(fun kill/1, maps:values(maps:get(Node, Callers, #{}))).

%% @doc Whether calls of that node are being served.
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
