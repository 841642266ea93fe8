%%% A server that ends, is silent or answers as it is asked to.
-module(comparison_server).
-behaviour(gen_server).

-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

init([]) ->
    {ok, #{seen => [], kept => none}}.

handle_call({echo, Term}, _From, State) ->
    {reply, Term, State};
handle_call(seen, _From, #{seen := Seen} = State) ->
    {reply, lists:reverse(Seen), State};
handle_call(keep, From, State) ->
    {noreply, State#{kept := From}};
handle_call(is_kept, _From, #{kept := Kept} = State) ->
    {reply, Kept =/= none, State};
handle_call({release, Term}, _From, #{kept := Kept} = State) ->
    gen_server:reply(Kept, Term),
    {reply, ok, State#{kept := none}};
handle_call({by_another, Term}, From, State) ->
    _ = spawn(fun() -> gen_server:reply(From, Term) end),
    {noreply, State};
handle_call({early, Term}, From, State) ->
    gen_server:reply(From, Term),
    {noreply, State#{kept := From}};
handle_call({stop, Reason}, _From, State) ->
    {stop, Reason, State};
handle_call({stop, Reason, Reply}, _From, State) ->
    {stop, Reason, Reply, State};
handle_call({error, Reason}, _From, _State) ->
    error(Reason);
handle_call({exit, Reason}, _From, _State) ->
    exit(Reason);
handle_call({throw, Term}, _From, _State) ->
    throw(Term);
handle_call({return, Term}, _From, _State) ->
    Term;
handle_call(kill, _From, State) ->
    exit(self(), kill),
    {noreply, State}.

handle_cast({stop, Reason}, State) ->
    {stop, Reason, State};
handle_cast(Message, #{seen := Seen} = State) ->
    {noreply, State#{seen := [Message | Seen]}}.

handle_info({stop, Reason}, State) ->
    {stop, Reason, State};
handle_info(Message, #{seen := Seen} = State) ->
    {noreply, State#{seen := [Message | Seen]}}.
