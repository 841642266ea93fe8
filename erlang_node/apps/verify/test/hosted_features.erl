%%% @doc A `gen_server' that uses what OTP offers to one, and logs its infos with their times.
-module(hosted_features).
-behaviour(gen_server).

-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

init(Argument) ->
    _ = process_flag(trap_exit, true),
    undefined = put(argument, Argument),
    {ok, [], {continue, begun}}.

handle_continue(Term, Log) ->
    {noreply, logged({continue, Term}, Log)}.

handle_call(log, _From, Log) ->
    {reply, lists:reverse(Log), Log};
handle_call({timeout, Ms}, _From, Log) ->
    {reply, ok, Log, Ms};
handle_call({later, Ms}, From, Log) ->
    _ = erlang:start_timer(Ms, self(), {answer, From}),
    {noreply, Log};
handle_call({tick, Ms}, _From, Log) ->
    {ok, Timer} = timer:send_interval(Ms, tick),
    undefined = put(tick, Timer),
    {reply, ok, Log};
handle_call(untick, _From, Log) ->
    {ok, cancel} = timer:cancel(erase(tick)),
    {reply, ok, Log};
handle_call({cancelled, Ms}, _From, Log) ->
    Timer = erlang:send_after(Ms, self(), never),
    Remaining = {erlang:read_timer(Timer), erlang:cancel_timer(Timer), erlang:cancel_timer(Timer)},
    {reply, Remaining, Log};
handle_call(dictionary, _From, Log) ->
    {reply, get(), Log};
handle_call({remember, Value}, _From, Log) ->
    Before = persistent_term:get(?MODULE, none),
    ok = persistent_term:put(?MODULE, Value),
    {reply, {Before, persistent_term:get(?MODULE)}, Log};
handle_call(identity, _From, Log) ->
    Self = self(),
    Self = whereis(?MODULE),
    {reply, {Self, node(), nodes(), make_ref(), erlang:unique_integer(), rand:uniform(1000)}, Log};
handle_call({thrown, Answer}, _From, Log) ->
    throw({reply, Answer, Log});
handle_call({inform, Node, Request}, _From, Log) ->
    ok = gen_server:cast({?MODULE, Node}, Request),
    {?MODULE, Node} ! {from, self()},
    {reply, ok, Log};
handle_call({stop, Reason}, _From, Log) ->
    {stop, Reason, stopped, Log};
handle_call({to, Name}, _From, Log) ->
    {reply, partisan:forward(<<"n02">>, Name, hello), Log};
handle_call(nonsense, _From, _Log) ->
    nonsense.

handle_cast(Request, Log) ->
    {noreply, logged({cast, Request}, Log)}.

handle_info({timeout, _Timer, {answer, From}}, Log) ->
    gen_server:reply(From, answer),
    {noreply, Log};
handle_info({from, Pid} = Message, Log) ->
    Pid ! seen,
    {noreply, logged(Message, Log)};
handle_info(Message, Log) ->
    {noreply, logged(Message, Log)}.

terminate(Reason, _Log) ->
    partisan:forward(<<"n02">>, ?MODULE, {terminated, Reason}).

logged(Term, Log) ->
    [{erlang:monotonic_time(millisecond), Term} | Log].
