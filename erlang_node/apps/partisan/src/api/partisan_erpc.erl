%%% @doc Remote procedure calls as in OTP's `erpc', on nodes that allow the module.
%%%
%%% A node executes functions of the modules in its setting `remote_execution' alone ({@link
%%% partisan_execution}); a fun belongs to the module that defines it. Others fail with
%%% `error:{erpc, {not_allowed, Module}}'. The remaining classes are those of `erpc':
%%%
%%% - the function's throw as itself, `exit:{exception, Reason}', `error:{exception, Reason,
%%%   Stacktrace}';
%%% - `exit:{signal, Reason}' if its process is ended;
%%% - `error:{erpc, Reason}' for `timeout', `noconnection', `badarg', `system_limit', and for
%%%   `notsup' if the node runs a version without this.
%%%
%%% Arguments of a wrong type fail with `badarg' before anything is sent.
%%%
%%% Nodes are named by binaries. Timeouts are in milliseconds, or `{abs, Time}': until that time of
%%% `erlang:monotonic_time(millisecond)'.
%%% After a timeout, or when the caller ends, the function is ended too.
%%%
%%% Longer than 300 lines: the functions of `erpc', a line or two for each.
-module(partisan_erpc).

-export([call/2]).
-export([call/3]).
-export([call/4]).
-export([call/5]).
-export([cast/2]).
-export([cast/4]).
-export([multicall/2]).
-export([multicall/3]).
-export([multicall/4]).
-export([multicall/5]).
-export([multicast/2]).
-export([multicast/4]).
-export([send_request/2]).
-export([send_request/4]).
-export([receive_response/1]).
-export([receive_response/2]).
-export([wait_response/1]).
-export([wait_response/2]).
-export([check_response/2]).
%% Collections of requests.
-export([reqids_new/0]).
-export([reqids_size/1]).
-export([reqids_add/3]).
-export([reqids_to_list/1]).
-export([send_request/6]).
-export([receive_response/3]).
-export([wait_response/3]).
-export([check_response/3]).

-type name() :: partisan_peer:name().
-type caught() ::
    {ok, Result :: term()}
    | {throw, term()}
    | {exit, {exception | signal, Reason :: term()}}
    | {error, {exception, Reason :: term(), [term()]} | {erpc, Reason :: term()}}.
-opaque request_id() :: partisan_execution:started().
%% Requests by the monitor of their answers.
-opaque collection() :: #{reference() => {request_id(), Label :: term()}}.
-type wait_time() :: timeout() | {abs, integer()}.
-export_type([request_id/0, collection/0, wait_time/0]).

%% @equiv call(Node, Fun, infinity)
-spec call(name(), fun(() -> Result)) -> Result.
call(Node, Fun) ->
    call(Node, Fun, infinity).

%% @doc Executes a fun on a node and returns its result.
-spec call(name(), fun(() -> Result), wait_time()) -> Result.
call(Node, Fun, Timeout) ->
    result(execute(Node, Fun, Timeout)).

%% @equiv call(Node, Module, Function, Arguments, infinity)
-spec call(name(), module(), Function :: atom(), [term()]) -> Result :: term().
call(Node, Module, Function, Arguments) ->
    call(Node, Module, Function, Arguments, infinity).

%% @doc Executes a function on a node and returns its result.
-spec call(name(), module(), Function :: atom(), [term()], wait_time()) -> Result :: term().
call(Node, Module, Function, Arguments, Timeout) ->
    result(execute(Node, {Module, Function, Arguments}, Timeout)).

%% @doc Executes a fun on a node without waiting for it.
-spec cast(name(), fun(() -> term())) -> ok.
cast(Node, Fun) ->
    multicast([Node], Fun).

%% @doc Executes a function on a node without waiting for it.
-spec cast(name(), module(), Function :: atom(), [term()]) -> ok.
cast(Node, Module, Function, Arguments) ->
    multicast([Node], Module, Function, Arguments).

%% @equiv multicall(Nodes, Fun, infinity)
-spec multicall([name()], fun(() -> term())) -> [caught()].
multicall(Nodes, Fun) ->
    multicall(Nodes, Fun, infinity).

%% @doc Executes a fun on several nodes at the same time. Returns a list of results in the order of
%% the nodes: `{ok, Result}', or the class and reason with which `call/3' would have failed.
-spec multicall([name()], fun(() -> term()), wait_time()) -> [caught()].
multicall(Nodes, Fun, Timeout) ->
    execute_all(Nodes, Fun, Timeout).

%% @equiv multicall(Nodes, Module, Function, Arguments, infinity)
-spec multicall([name()], module(), Function :: atom(), [term()]) -> [caught()].
multicall(Nodes, Module, Function, Arguments) ->
    multicall(Nodes, Module, Function, Arguments, infinity).

%% @doc As `multicall/3', of a function.
-spec multicall([name()], module(), Function :: atom(), [term()], wait_time()) -> [caught()].
multicall(Nodes, Module, Function, Arguments, Timeout) ->
    execute_all(Nodes, {Module, Function, Arguments}, Timeout).

%% @doc Executes a fun on several nodes without waiting for it.
-spec multicast([name()], fun(() -> term())) -> ok.
multicast(Nodes, Fun) ->
    cast_all(Nodes, Fun).

%% @doc Executes a function on several nodes without waiting for it.
-spec multicast([name()], module(), Function :: atom(), [term()]) -> ok.
multicast(Nodes, Module, Function, Arguments) ->
    cast_all(Nodes, {Module, Function, Arguments}).

%% @doc Starts to execute a fun, whose result the caller can wait for later.
-spec send_request(name(), fun(() -> term())) -> request_id().
send_request(Node, Fun) ->
    start(Node, Fun).

%% @doc Starts to execute a function, whose result the caller can wait for later; or a fun, as a
%% request of a collection: `send_request(Node, Fun, Label, Collection)'.
-spec send_request
    (name(), module(), Function :: atom(), [term()]) -> request_id();
    (name(), fun(() -> term()), Label :: term(), collection()) -> collection().
send_request(Node, Fun, Label, Collection) when is_function(Fun) ->
    ok = valid(is_map(Collection)),
    reqids_add(start(Node, Fun), Label, Collection);
send_request(Node, Module, Function, Arguments) ->
    start(Node, {Module, Function, Arguments}).

%% @equiv receive_response(Request, infinity)
-spec receive_response(request_id()) -> Result :: term().
receive_response(Request) ->
    receive_response(Request, infinity).

%% @doc Waits for the result of a request; after the timeout the request is abandoned.
-spec receive_response(request_id(), wait_time()) -> Result :: term().
receive_response(Request, Timeout) ->
    ok = valid(is_request(Request)),
    case partisan_execution:await(Request, milliseconds(Timeout)) of
        no_answer ->
            ok = partisan_execution:abandon(Request),
            error({erpc, timeout});
        Answer ->
            result(caught(Answer))
    end.

%% @equiv wait_response(Request, 0)
-spec wait_response(request_id()) -> {response, Result :: term()} | no_response.
wait_response(Request) ->
    wait_response(Request, 0).

%% @doc Waits for the result of a request, which stays under way after the timeout.
-spec wait_response(request_id(), wait_time()) -> {response, Result :: term()} | no_response.
wait_response(Request, Timeout) ->
    ok = valid(is_request(Request)),
    case partisan_execution:await(Request, milliseconds(Timeout)) of
        no_answer -> no_response;
        Answer -> {response, result(caught(Answer))}
    end.

%% @doc The result of a request if this message contains it.
-spec check_response(Message :: term(), request_id()) ->
    {response, Result :: term()} | no_response.
check_response(Message, Request) ->
    ok = valid(is_request(Request)),
    case partisan_execution:check(Message, Request) of
        no_answer -> no_response;
        Answer -> {response, result(caught(Answer))}
    end.

%% Collections of requests.

%% @doc A collection without requests.
-spec reqids_new() -> collection().
reqids_new() ->
    #{}.

%% @doc The number of requests in a collection.
-spec reqids_size(collection()) -> non_neg_integer().
reqids_size(Collection) ->
    ok = valid(is_map(Collection)),
    map_size(Collection).

%% @doc Adds a request with a label. Fails with `{erpc, badarg}' if the collection has it already.
-spec reqids_add(request_id(), Label :: term(), collection()) -> collection().
reqids_add(Request, Label, Collection) ->
    ok = valid(is_request(Request) andalso is_map(Collection)),
    {_, {_, Monitor}} = Request,
    ok = valid(not is_map_key(Monitor, Collection)),
    Collection#{Monitor => {Request, Label}}.

%% @doc The requests of a collection, with their labels.
-spec reqids_to_list(collection()) -> [{request_id(), Label :: term()}].
reqids_to_list(Collection) ->
    ok = valid(is_map(Collection)),
    maps:values(Collection).

%% @doc Starts to execute a function, as a request of a collection.
-spec send_request(
    name(), module(), Function :: atom(), [term()], Label :: term(), collection()
) -> collection().
send_request(Node, Module, Function, Arguments, Label, Collection) ->
    ok = valid(is_map(Collection)),
    reqids_add(send_request(Node, Module, Function, Arguments), Label, Collection).

%% @doc Waits for the result of any request of a collection, and returns it with the label and the
%% collection, without the request if `IsDeleted'. A failure has the reason `{Reason, Label,
%% Collection}'. After the timeout all requests are abandoned. `no_request': there is none.
-spec receive_response(collection(), wait_time(), IsDeleted :: boolean()) ->
    {Result :: term(), Label :: term(), collection()} | no_request.
receive_response(Collection, Timeout, IsDeleted) ->
    case await_any(Collection, Timeout, IsDeleted) of
        no_response ->
            Requests = [Request || {Request, _} <- reqids_to_list(Collection)],
            lists:foreach(fun partisan_execution:abandon/1, Requests),
            error({erpc, timeout});
        no_request ->
            no_request;
        Message ->
            {{response, Result}, Label, Rest} = response(Message, Collection, IsDeleted),
            {Result, Label, Rest}
    end.

%% @doc As `receive_response/3', of requests that stay under way after the timeout.
-spec wait_response(collection(), wait_time(), IsDeleted :: boolean()) ->
    {{response, Result :: term()}, Label :: term(), collection()} | no_response | no_request.
wait_response(Collection, Timeout, IsDeleted) ->
    check_response(await_any(Collection, Timeout, IsDeleted), Collection, IsDeleted).

%% @doc The result of a request of a collection if this message contains it.
-spec check_response(Message :: term(), collection(), IsDeleted :: boolean()) ->
    {{response, Result :: term()}, Label :: term(), collection()} | no_response | no_request.
check_response(Message, Collection, IsDeleted) ->
    ok = valid(is_map(Collection) andalso is_boolean(IsDeleted)),
    case Message of
        _ when map_size(Collection) =:= 0 ->
            no_request;
        {'DOWN', Monitor, process, _, _} when is_map_key(Monitor, Collection) ->
            response(Message, Collection, IsDeleted);
        _ ->
            no_response
    end.

%% Internals.

await_any(Collection, Timeout, IsDeleted) ->
    ok = valid(is_map(Collection) andalso is_boolean(IsDeleted)),
    case milliseconds(Timeout) of
        _ when map_size(Collection) =:= 0 ->
            no_request;
        Milliseconds ->
            receive
                {'DOWN', Monitor, process, _, _} = Down when is_map_key(Monitor, Collection) -> Down
            after Milliseconds -> no_response
            end
    end.

response({'DOWN', Monitor, process, _, _} = Message, Collection, IsDeleted) ->
    #{Monitor := {Request, Label}} = Collection,
    Rest =
        case IsDeleted of
            true -> maps:remove(Monitor, Collection);
            false -> Collection
        end,
    try check_response(Message, Request) of
        Response -> {Response, Label, Rest}
    catch
        Class:Reason -> erlang:Class({Reason, Label, Rest})
    end.

execute(Node, Work, Timeout) ->
    ok = checked([Node], Work),
    caught(partisan_execution:call(Node, call, Work, milliseconds(Timeout))).

execute_all(Nodes, Work, Timeout) ->
    ok = checked(Nodes, Work),
    Answers = partisan_execution:call_all(Nodes, Work, milliseconds(Timeout)),
    [caught(Answer) || Answer <- Answers].

cast_all(Nodes, Work) ->
    ok = checked(Nodes, Work),
    partisan_execution:cast(Nodes, Work).

start(Node, Work) ->
    ok = checked([Node], Work),
    partisan_execution:start(Node, Work, infinity).

checked(Nodes, Work) ->
    partisan_arguments:check(Nodes, Work, {erpc, badarg}).

milliseconds(Timeout) ->
    partisan_arguments:milliseconds(Timeout, {erpc, badarg}).

is_request({Module, {Proxy, Monitor}}) ->
    is_atom(Module) andalso is_pid(Proxy) andalso is_reference(Monitor);
is_request(_) ->
    false.

valid(true) -> ok;
valid(false) -> error({erpc, badarg}).

caught({ok, {returned, Result}}) -> {ok, Result};
caught({ok, {thrown, Thrown}}) -> {throw, Thrown};
caught({ok, {exited, Reason}}) -> {exit, {exception, Reason}};
caught({ok, {signalled, Reason}}) -> {exit, {signal, Reason}};
caught({ok, {failed, Reason, Stacktrace}}) -> {error, {exception, Reason, Stacktrace}};
caught({error, {nodedown, _}}) -> {error, {erpc, noconnection}};
caught({error, noproc}) -> {error, {erpc, notsup}};
caught({error, Reason}) -> {error, {erpc, Reason}}.

result({ok, Result}) -> Result;
result({throw, Thrown}) -> throw(Thrown);
result({exit, Reason}) -> exit(Reason);
result({error, Reason}) -> error(Reason).
