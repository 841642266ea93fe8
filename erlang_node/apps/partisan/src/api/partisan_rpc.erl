%%% @doc Remote procedure calls as in OTP's `rpc', on nodes that allow the module.
%%%
%%% A node executes functions of the modules in its setting `remote_execution' alone ({@link
%%% partisan_execution}); for others the result is `{badrpc, {not_allowed, Module}}'. Everything
%%% else is as in `rpc': a thrown term is returned, an exit or error is `{badrpc, {'EXIT',
%%% Reason}}', and arguments of a wrong type fail with `badarg' before anything is sent. Nodes are
%%% named by binaries, and timeouts are in milliseconds.
%%%
%%% Without a list of nodes the functions mean the members that this node knows ({@link
%%% partisan:members/0}), itself included, as those of {@link partisan_gen_server} do: in a partial
%%% view not all of the cluster, and on a client of a star the servers.
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
    Work = {Module, Function, Arguments},
    ok = checked([Node], Work),
    result(partisan_execution:call(Node, call, Work, milliseconds(Timeout))).

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
    abcast = eval_everywhere([Node], Module, Function, Arguments),
    true.

%% @doc Starts a call whose result `yield/1' returns to the same process.
-spec async_call(name(), module(), Function :: atom(), [term()]) -> key().
async_call(Node, Module, Function, Arguments) ->
    Work = {Module, Function, Arguments},
    ok = checked([Node], Work),
    partisan_execution:start(Node, Work, infinity).

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

%% @equiv multicall(partisan:members(), Module, Function, Arguments, infinity)
-spec multicall(module(), Function :: atom(), [term()]) -> {[term()], BadNodes :: [name()]}.
multicall(Module, Function, Arguments) ->
    multicall(partisan:members(), Module, Function, Arguments, infinity).

%% @doc `multicall(Nodes, Module, Function, Arguments, infinity)'; or, with a timeout instead of the
%% nodes, `multicall(partisan:members(), Module, Function, Arguments, Timeout)'.
-spec multicall
    ([name()], module(), Function :: atom(), [term()]) -> {[term()], BadNodes :: [name()]};
    (module(), Function :: atom(), [term()], timeout()) -> {[term()], BadNodes :: [name()]}.
multicall(Nodes, Module, Function, Arguments) when is_list(Nodes) ->
    multicall(Nodes, Module, Function, Arguments, infinity);
multicall(Module, Function, Arguments, Timeout) ->
    multicall(partisan:members(), Module, Function, Arguments, Timeout).

%% @doc Executes a function on several nodes at the same time. Returns the results, and the nodes
%% that gave none in time or are lost.
-spec multicall([name()], module(), Function :: atom(), [term()], timeout()) ->
    {[term()], BadNodes :: [name()]}.
multicall(Nodes, Module, Function, Arguments, Timeout) ->
    Work = {Module, Function, Arguments},
    ok = checked(Nodes, Work),
    Answers = partisan_execution:call_all(Nodes, Work, milliseconds(Timeout)),
    Results = [{Node, result(Answer)} || {Node, Answer} <- lists:zip(Nodes, Answers)],
    {Bad, Good} = lists:partition(
        fun({_, Result}) -> Result =:= {badrpc, nodedown} orelse Result =:= {badrpc, timeout} end,
        Results
    ),
    {[Result || {_, Result} <- Good], [Node || {Node, _} <- Bad]}.

%% @equiv eval_everywhere(partisan:members(), Module, Function, Arguments)
-spec eval_everywhere(module(), Function :: atom(), [term()]) -> abcast.
eval_everywhere(Module, Function, Arguments) ->
    eval_everywhere(partisan:members(), Module, Function, Arguments).

%% @doc Executes a function on several nodes without waiting for it.
-spec eval_everywhere([name()], module(), Function :: atom(), [term()]) -> abcast.
eval_everywhere(Nodes, Module, Function, Arguments) ->
    Work = {Module, Function, Arguments},
    ok = checked(Nodes, Work),
    ok = partisan_execution:cast(Nodes, Work),
    abcast.

%% @private
-spec execute(name(), {module(), Function :: atom(), [term()]}, timeout()) -> term().
execute(Node, {Module, Function, Arguments} = Work, Timeout) when is_binary(Node) ->
    case partisan_execution:call(Node, call, Work, Timeout) of
        {ok, {returned, Result}} ->
            Result;
        Failed ->
            Origin = {partisan, execute, [Node, Module, Function, Arguments, Timeout]},
            exit({reason(Failed), Origin})
    end.

%% Internals.

checked(Nodes, Work) ->
    partisan_arguments:check(Nodes, Work, badarg).

milliseconds(Timeout) ->
    partisan_arguments:milliseconds(Timeout, badarg).

result({ok, {returned, Result}}) -> Result;
result({ok, {thrown, Thrown}}) -> Thrown;
result({ok, _} = Failed) -> {badrpc, {'EXIT', reason(Failed)}};
result({error, {nodedown, _}}) -> {badrpc, nodedown};
result({error, Reason}) -> {badrpc, Reason}.

reason({ok, {thrown, Thrown}}) -> {nocatch, Thrown};
reason({ok, {failed, Reason, Stacktrace}}) -> {Reason, Stacktrace};
reason({ok, {_Exited, Reason}}) -> Reason;
reason({error, Reason}) -> Reason.
