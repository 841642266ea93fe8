%%% @doc Remote procedure calls as in OTP's `rpc', on nodes that allow the module.
%%%
%%% A node executes functions of the modules in its setting `remote_execution' alone ({@link
%%% partisan_execution}); for others the result is `{badrpc, {not_allowed, Module}}'. Everything
%%% else is as in `rpc': a thrown term is returned, an exit or error is `{badrpc, {'EXIT',
%%% Reason}}'. Nodes are named by binaries, and timeouts are in milliseconds.
-module(partisan_rpc).

-export([call/4]).
-export([call/5]).
-export([block_call/4]).
-export([block_call/5]).
-export([cast/4]).
-export([async_call/4]).
-export([yield/1]).
-export([nb_yield/1]).
-export([nb_yield/2]).
-export([multicall/3]).
-export([multicall/4]).
-export([multicall/5]).
-export([eval_everywhere/3]).
-export([eval_everywhere/4]).
%% For partisan:execute/5.
-export([execute/3]).

-type name() :: partisan_peer:name().
-type badrpc() :: {badrpc, Reason :: term()}.
-opaque key() :: partisan_execution:started().
-export_type([key/0]).

%% @equiv call(Node, Module, Function, Arguments, infinity)
-spec call(name(), module(), Function :: atom(), [term()]) -> term() | badrpc().
call(Node, Module, Function, Arguments) ->
    call(Node, Module, Function, Arguments, infinity).

%% @doc Executes a function on a node and returns its result. `{badrpc, Reason}': `timeout',
%% `nodedown', `{not_allowed, Module}', or `{'EXIT', _}' if the function fails.
-spec call(name(), module(), Function :: atom(), [term()], timeout()) -> term() | badrpc().
call(Node, Module, Function, Arguments, Timeout) ->
    result(partisan_execution:call(Node, call, {Module, Function, Arguments}, Timeout)).

%% @equiv call(Node, Module, Function, Arguments)
-spec block_call(name(), module(), Function :: atom(), [term()]) -> term() | badrpc().
block_call(Node, Module, Function, Arguments) ->
    call(Node, Module, Function, Arguments).

%% @doc As `call/5': no call of one process holds up another's, as since OTP 23 by default.
-spec block_call(name(), module(), Function :: atom(), [term()], timeout()) -> term() | badrpc().
block_call(Node, Module, Function, Arguments, Timeout) ->
    call(Node, Module, Function, Arguments, Timeout).

%% @doc Executes a function on a node without waiting for it.
-spec cast(name(), module(), Function :: atom(), [term()]) -> true.
cast(Node, Module, Function, Arguments) ->
    ok = partisan_erpc:cast(Node, Module, Function, Arguments),
    true.

%% @doc Starts a call whose result `yield/1' returns to the same process.
-spec async_call(name(), module(), Function :: atom(), [term()]) -> key().
async_call(Node, Module, Function, Arguments) ->
    partisan_execution:start(Node, {Module, Function, Arguments}, infinity).

%% @doc The result of a call, when it is there.
-spec yield(key()) -> term() | badrpc().
yield(Key) ->
    {value, Result} = nb_yield(Key, infinity),
    Result.

%% @equiv nb_yield(Key, 0)
-spec nb_yield(key()) -> {value, term() | badrpc()} | timeout.
nb_yield(Key) ->
    nb_yield(Key, 0).

%% @doc The result of a call if it comes within the timeout.
-spec nb_yield(key(), timeout()) -> {value, term() | badrpc()} | timeout.
nb_yield(Key, Timeout) ->
    case partisan_execution:await(Key, Timeout) of
        no_answer -> timeout;
        Answer -> {value, result(Answer)}
    end.

%% @doc `multicall([node() | nodes()], Module, Function, Arguments, infinity)'.
-spec multicall(module(), Function :: atom(), [term()]) -> {[term()], BadNodes :: [name()]}.
multicall(Module, Function, Arguments) ->
    multicall(everywhere(), Module, Function, Arguments, infinity).

%% @doc `multicall(Nodes, Module, Function, Arguments, infinity)', or on all nodes with a timeout.
-spec multicall
    ([name()], module(), Function :: atom(), [term()]) -> {[term()], BadNodes :: [name()]};
    (module(), Function :: atom(), [term()], timeout()) -> {[term()], BadNodes :: [name()]}.
multicall(Nodes, Module, Function, Arguments) when is_list(Nodes) ->
    multicall(Nodes, Module, Function, Arguments, infinity);
multicall(Module, Function, Arguments, Timeout) ->
    multicall(everywhere(), Module, Function, Arguments, Timeout).

%% @doc Executes a function on several nodes at the same time. Returns the results, and the nodes
%% that gave none in time or are lost. `everywhere' are the node and its neighbours.
-spec multicall([name()], module(), Function :: atom(), [term()], timeout()) ->
    {[term()], BadNodes :: [name()]}.
multicall(Nodes, Module, Function, Arguments, Timeout) ->
    Answers = partisan_execution:call_all(Nodes, {Module, Function, Arguments}, Timeout),
    Results = [{Node, result(Answer)} || {Node, Answer} <- lists:zip(Nodes, Answers)],
    {Bad, Good} = lists:partition(
        fun({_, Result}) -> Result =:= {badrpc, nodedown} orelse Result =:= {badrpc, timeout} end,
        Results
    ),
    {[Result || {_, Result} <- Good], [Node || {Node, _} <- Bad]}.

%% @doc `eval_everywhere([node() | nodes()], Module, Function, Arguments)'.
-spec eval_everywhere(module(), Function :: atom(), [term()]) -> abcast.
eval_everywhere(Module, Function, Arguments) ->
    eval_everywhere(everywhere(), Module, Function, Arguments).

%% @doc Executes a function on several nodes without waiting for it.
-spec eval_everywhere([name()], module(), Function :: atom(), [term()]) -> abcast.
eval_everywhere(Nodes, Module, Function, Arguments) ->
    ok = partisan_erpc:multicast(Nodes, Module, Function, Arguments),
    abcast.

%% @private
-spec execute(name(), {module(), Function :: atom(), [term()]}, timeout()) -> term().
execute(Node, {Module, Function, Arguments} = Work, Timeout) ->
    case partisan_execution:call(Node, call, Work, Timeout) of
        {ok, {returned, Result}} ->
            Result;
        Failed ->
            Origin = {partisan, execute, [Node, Module, Function, Arguments, Timeout]},
            exit({reason(Failed), Origin})
    end.

%% Internals.

everywhere() ->
    [partisan:node() | partisan:neighbours()].

result({ok, {returned, Result}}) -> Result;
result({ok, {thrown, Thrown}}) -> Thrown;
result({ok, _} = Failed) -> {badrpc, {'EXIT', reason(Failed)}};
result({error, {nodedown, _}}) -> {badrpc, nodedown};
result({error, Reason}) -> {badrpc, Reason}.

reason({ok, {thrown, Thrown}}) -> {nocatch, Thrown};
reason({ok, {failed, Reason, Stacktrace}}) -> {Reason, Stacktrace};
reason({ok, {_Exited, Reason}}) -> Reason;
reason({error, Reason}) -> Reason.
