%%% @doc Asks for the nodes of the cluster again and again, if `discovery' is configured, and makes
%%% the first of them the seeds of this node.
%%%
%%% {@link partisan_discovery} decides. A question that fails changes nothing and is logged.
-module(partisan_discovery_server).

-behaviour(gen_server).

-export([start_link/0]).

-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-define(TIMEOUT_MS, 5000).
%% Between two questions until there is an answer: the other nodes are just starting, too.
-define(HASTE_MS, 500).

-record(state, {
    options :: partisan_discovery:options(),
    % Those of the last answer.
    seeds = [] :: [partisan_peer:t()]
}).

%% @doc Starts the process, if the configuration asks for it.
-spec start_link() -> gen_server:start_ret() | ignore.
start_link() ->
    case partisan_config:get(discovery) of
        none -> ignore;
        Options -> gen_server:start_link({local, ?MODULE}, ?MODULE, Options, [])
    end.

%% @private
-spec init(partisan_discovery:options()) -> {ok, #state{}}.
init(Options) ->
    self() ! ask,
    {ok, #state{options = Options}}.

%% @private
-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call(Unknown, _From, State) ->
    {reply, partisan_stray:call(Unknown), State}.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(Unknown, State) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(ask, #state{options = Options, seeds = Present} = State0) ->
    State = follow(partisan_discovery:decide(ask(Options), Present, Options), State0),
    _ = erlang:send_after(delay(State), self(), ask),
    {noreply, State};
handle_info(Unknown, State) ->
    ok = partisan_stray:message(Unknown),
    {noreply, State}.

%% Internals.

follow({use, Seeds}, State) ->
    case partisan_manager:reconfigure(#{seeds => Seeds}) of
        ok -> State#state{seeds = Seeds};
        % Such as a name that is too long.
        {error, Text} -> follow({keep, Text}, State)
    end;
follow(keep, State) ->
    State;
follow({keep, Why}, #state{options = Options} = State) ->
    Place = maps:with([dns, file], Options),
    ok = partisan_refusals:warn(discovery, "discovery in ~0tp: ~ts", [Place, Why]),
    State.

%% Random, lest all nodes of a cluster ask at the same time.
delay(#state{options = Options, seeds = Seeds}) ->
    Longest = partisan_discovery:interval(Options),
    Interval = case Seeds of [] -> min(?HASTE_MS, Longest); _ -> Longest end,
    (Interval + rand:uniform(Interval)) div 2.

ask(#{file := File} = Options) ->
    case file:read_file(File) of
        {ok, Text} -> partisan_discovery:parse(Text, Options);
        {error, Reason} -> {error, file:format_error(Reason)}
    end;
ask(#{dns := {Type, Name}} = Options) ->
    Servers = maps:to_list(maps:with([nameservers], Options)),
    case inet_res:resolve(Name, in, Type, Servers, ?TIMEOUT_MS) of
        {ok, Answer} ->
            partisan_discovery:records(data(Type, inet_dns:msg(Answer, anlist)), Options);
        {error, Reason} ->
            {error, lists:flatten(io_lib:format("the name server answers ~0tP", [Reason, 6]))}
    end.

%% An alias is in the answer, too.
data(Type, Records) ->
    [inet_dns:rr(Record, data) || Record <- Records, inet_dns:rr(Record, type) =:= Type].
