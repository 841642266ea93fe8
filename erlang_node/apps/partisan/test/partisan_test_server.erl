%%% An ordinary gen_server that knows nothing of other nodes.
-module(partisan_test_server).
-behaviour(gen_server).

-export([start/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start(Name) ->
    gen_server:start({local, Name}, ?MODULE, [], []).

init([]) ->
    {ok, #{seen => [], kept => none}}.

handle_call(seen, _From, #{seen := Seen} = State) ->
    {reply, lists:reverse(Seen), State};
handle_call({echo, Term}, _From, State) ->
    {reply, Term, State};
%% Answers on command: `none' if there is nothing to answer.
handle_call(keep, From, State) ->
    {noreply, State#{kept := From}};
handle_call(release, _From, #{kept := none} = State) ->
    {reply, none, State};
handle_call(release, _From, #{kept := Kept} = State) ->
    gen_server:reply(Kept, kept),
    {reply, ok, State#{kept := none}};
handle_call({stop, Reason}, _From, State) ->
    {stop, Reason, State};
handle_call(ref, _From, State) ->
    {reply, partisan:self(), State}.

handle_cast(Message, #{seen := Seen} = State) ->
    {noreply, State#{seen := [Message | Seen]}}.

handle_info(Message, #{seen := Seen} = State) ->
    {noreply, State#{seen := [Message | Seen]}}.
