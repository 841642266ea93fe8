%%% @doc A workload that fails on demand: at its start, when asked for its status, or before there
%%% is any process.
-module(node_test_workload).
-behaviour(gen_server).
-behaviour(workload).

-export([child_specs/1, parameters/0, start/1, status/0, members/1]).
-export([start_link/1]).
-export([init/1, handle_call/3, handle_cast/2]).

parameters() ->
    #{
        fails => {one_of, [never, at_once, in_child_specs], never},
        size => positive_integer,
        words => {text, <<"none">>}
    }.

child_specs(#{parameters := #{fails := in_child_specs}}) ->
    error(no_child_specs);
child_specs(#{parameters := #{fails := Fails}}) ->
    [#{id => failing, start => {?MODULE, start_link, [Fails]}}].

start(_Run) -> ok.

status() -> gen_server:call(?MODULE, status).

members(_Names) -> ok.

start_link(Fails) -> gen_server:start_link({local, ?MODULE}, ?MODULE, Fails, []).

init(never) -> {ok, none};
init(at_once) -> {stop, no_luck}.

handle_call(status, _From, State) -> {reply, #{kind => ?MODULE}, State};
handle_call(fail, _From, State) -> {stop, out_of_luck, State}.

handle_cast(_, State) -> {noreply, State}.
