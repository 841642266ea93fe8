%%% @doc Runs a protocol of this application on the nodes of a cluster, as a {@link workload}.
%%%
%%% Every node performs its operations one after another through its own process ({@link
%%% partisan_process_server}): it broadcasts a value, or writes to a key of its own. One that fails
%%% is repeated after the interval. The run ends when every node has seen the operations of all
%%% members: has delivered the values, or has read the last ones of all keys.
%%%
%%% A node that has begun sends the start to a random neighbour per interval, so that one start is
%%% enough and a replaced node takes part. A file has what it has done, for restarted containers.
%%%
%%% ```
%%% workload: {custom: {module: protocol_workload, arguments: [
%%%     {name: protocol, value: three_phase_commit}, {name: operations, value: 20}]}}
%%% '''
-module(protocol_workload).
-behaviour(gen_server).
-behaviour(workload).

%% workload.
-export([child_specs/1]).
-export([parameters/0]).
-export([start/1]).
-export([status/0]).
-export([members/1]).
%% For the supervisor.
-export([start_link/1]).
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

-define(PROCESS, protocol_process).
-define(RECORD, "protocol_workload.record").

-type name() :: partisan_peer:name().

-record(run, {
    run :: binary(),
    name :: name(),
    members :: [name()],
    channel :: atom(),
    directory :: file:filename(),
    protocol :: module(),
    operations :: pos_integer(),
    interval :: pos_integer(),
    phase = waiting :: waiting | running | finished,
    started_at = null :: null | float(),
    finished_at = null :: null | float(),
    done = 0 :: non_neg_integer(),
    failed = 0 :: non_neg_integer(),
    seen :: protocol_operations:t(),
    % Of the operation, or the reads of keys, that are under way.
    requests = #{} :: #{gen_server:request_id() => operation | {key, name()}}
}).

%% workload.

%% @private
-spec child_specs(workload:options()) -> [supervisor:child_spec()].
child_specs(Options) ->
    #{members := Members, channel := Channel, directory := Directory} = Options,
    #{parameters := #{protocol := Protocol} = Parameters} = Options,
    Process = #{
        module => Protocol,
        name => ?PROCESS,
        members => Members,
        options => maps:with([interval, acknowledged], Parameters),
        deliver => fun(Output) -> gen_server:cast(?MODULE, {delivered, Output}) end,
        send => #{channel => Channel, on_busy => drop},
        directory => Directory
    },
    [
        #{id => ?PROCESS, start => {partisan_process_server, start_link, [Process]}},
        #{id => ?MODULE, start => {?MODULE, start_link, [Options]}}
    ].

%% @doc `protocol': a module of this application; a run of {@link rumor_mongering} may not end,
%% since a rumor may die out. `operations': of each node. `interval': milliseconds, of epidemic
%% protocols too. `acknowledged': the option of {@link direct_mail}.
-spec parameters() -> #{atom() => workload:kind_of_parameter()}.
parameters() ->
    #{
        protocol =>
            {one_of,
                [
                    two_phase_commit,
                    cooperative_termination,
                    three_phase_commit,
                    direct_mail,
                    rumor_mongering,
                    anti_entropy,
                    primary_backup,
                    quorum_kv
                ],
                two_phase_commit},
        operations => {positive_integer, 10},
        interval => {positive_integer, 500},
        acknowledged => {one_of, [false, true], false}
    }.

%% @doc Starts the run on this node, which starts the others.
-spec start(Run :: binary()) -> ok | {error, iodata()}.
start(Run) ->
    gen_server:call(?MODULE, {start, Run}).

%% @doc Status for the operator: the operations of all members that this node has seen.
-spec status() -> workload:status().
status() ->
    gen_server:call(?MODULE, status).

%% @doc Changes the members, whose operations are expected.
-spec members([name()]) -> ok.
members(Names) ->
    gen_server:call(?MODULE, {members, Names}).

%% @private
-spec start_link(workload:options()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

%% gen_server.

%% @private
-spec init(workload:options()) -> {ok, #run{}}.
init(#{parameters := Parameters, directory := Directory} = Options) ->
    Help = "Operations of this node.",
    ok = partisan_metrics:new(counter, protocol_operations_total, Help, [outcome]),
    #{run := Run, name := Name, members := Members, channel := Channel} = Options,
    #{protocol := Protocol, operations := Operations, interval := Interval} = Parameters,
    S = #run{
        run = Run,
        name = Name,
        members = Members,
        channel = Channel,
        directory = Directory,
        protocol = Protocol,
        operations = Operations,
        interval = Interval,
        seen = protocol_operations:new(Protocol)
    },
    {ok, later(recovered(partisan_record:load(file(S)), S))}.

%% @private
-spec handle_call(term(), gen_server:from(), #run{}) -> {reply, term(), #run{}}.
handle_call({start, Run}, _From, #run{run = Run} = S) ->
    {reply, ok, perform(begun(now_in_seconds(), S))};
handle_call({start, _Other}, _From, #run{run = Run} = S) ->
    {reply, {error, ["this node runs ", Run]}, S};
handle_call({members, Names}, _From, S) ->
    ok = partisan_process_server:members(?PROCESS, Names),
    {reply, ok, settled(S#run{members = Names})};
handle_call(status, _From, S) ->
    {reply, report(S), S};
handle_call(Unknown, _From, S) ->
    {reply, partisan_stray:call(Unknown), S}.

%% @private
-spec handle_cast(term(), #run{}) -> {noreply, #run{}}.
handle_cast({delivered, Output}, #run{seen = Seen} = S) ->
    {noreply, settled(recorded(S#run{seen = protocol_operations:delivered(Output, Seen)}))};
handle_cast(Unknown, S) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, S}.

%% @private
-spec handle_info(term(), #run{}) -> {noreply, #run{}}.
handle_info(interval, S) ->
    ok = spread(S),
    {noreply, later(perform(S))};
handle_info({begun, Run, StartedAt}, #run{run = Run, phase = waiting} = S) ->
    {noreply, perform(begun(StartedAt, S))};
handle_info({begun, _Run, _StartedAt}, S) ->
    {noreply, S};
handle_info(Message, #run{requests = Requests} = S) ->
    case answered(maps:keys(Requests), Message) of
        {Id, Answer} ->
            {Purpose, Others} = maps:take(Id, Requests),
            {noreply, answer(Purpose, Answer, S#run{requests = Others})};
        none ->
            ok = partisan_stray:message(Message),
            {noreply, S}
    end.

%% Internals: operations.

later(#run{interval = Interval} = S) ->
    _ = erlang:send_after(Interval, self(), interval),
    S.

%% The next operation, or the reads of what has not been seen.
perform(#run{phase = running, requests = Requests} = S) when map_size(Requests) =:= 0 ->
    #run{protocol = Protocol, name = Name, members = Members, operations = Operations} = S,
    case S#run.done < Operations of
        true ->
            Number = S#run.done + 1,
            request(operation, protocol_operations:request(Protocol, Name, Number), S);
        false ->
            Unread = protocol_operations:unread(Members, Operations, S#run.seen),
            lists:foldl(fun read/2, S, Unread)
    end;
perform(S) ->
    S.

read(Member, #run{protocol = Protocol} = S) ->
    {ok, Query} = protocol_operations:query(Protocol, Member),
    request({key, Member}, Query, S).

request(Purpose, Request, #run{requests = Requests} = S) ->
    Id = gen_server:send_request(?PROCESS, {call, Request}),
    S#run{requests = Requests#{Id => Purpose}}.

answered([], _Message) ->
    none;
answered([Id | Ids], Message) ->
    case gen_server:check_response(Message, Id) of
        {reply, Answer} -> {Id, Answer};
        {error, _} = Error -> {Id, Error};
        no_reply -> answered(Ids, Message)
    end.

answer({key, Member}, {ok, Number}, #run{seen = Seen} = S) ->
    settled(recorded(S#run{seen = protocol_operations:read(Member, Number, Seen)}));
answer({key, _Member}, _NotYet, S) ->
    S;
answer(operation, Answer, #run{done = Done, failed = Failed} = S) ->
    case protocol_operations:is_done(Answer) of
        true ->
            ok = partisan_metrics:inc(protocol_operations_total, [ok]),
            perform(recorded(S#run{done = Done + 1}));
        false ->
            ok = partisan_metrics:inc(protocol_operations_total, [failed]),
            S#run{failed = Failed + 1}
    end.

%% Internals: the run.

begun(StartedAt, #run{phase = waiting} = S) ->
    settled(recorded(S#run{phase = running, started_at = StartedAt}));
begun(_StartedAt, S) ->
    S.

spread(#run{phase = waiting}) ->
    ok;
spread(#run{run = Run, started_at = StartedAt, channel = Channel}) ->
    case partisan:neighbours() of
        [] ->
            ok;
        Neighbours ->
            One = lists:nth(rand:uniform(length(Neighbours)), Neighbours),
            Options = #{channel => Channel, on_busy => drop},
            _ = partisan:forward(One, ?MODULE, {begun, Run, StartedAt}, Options),
            ok
    end.

settled(#run{phase = waiting} = S) ->
    S;
settled(#run{members = Members, operations = Operations, phase = Phase, seen = Seen} = S) ->
    case protocol_operations:count(Members, Seen) =:= length(Members) * Operations of
        true when Phase =:= running -> S#run{phase = finished, finished_at = now_in_seconds()};
        true -> S;
        false -> S#run{phase = running, finished_at = null}
    end.

report(#run{members = Members, operations = Operations, phase = Phase, seen = Seen} = S) ->
    #{
        kind => ?MODULE,
        run => S#run.run,
        protocol => S#run.protocol,
        phase => Phase,
        value => protocol_operations:count(Members, Seen),
        threshold => length(Members) * Operations,
        converged => Phase =:= finished,
        % Equal on two nodes exactly when they have seen the same.
        digest => digest(protocol_operations:seen(Members, Seen)),
        failed => S#run.failed,
        started_at => S#run.started_at,
        finished_at => S#run.finished_at
    }.

digest(Operations) ->
    integer_to_binary(erlang:phash2(Operations), 16).

now_in_seconds() ->
    erlang:system_time(microsecond) / 1.0e6.

%% Internals: the file.

file(#run{directory = Directory}) ->
    filename:join(Directory, ?RECORD).

recorded(#run{run = Run, started_at = StartedAt, done = Done, seen = Seen} = S) ->
    ok = partisan_record:save(file(S), {Run, StartedAt, Done, Seen}),
    S.

recovered({ok, {Run, StartedAt, Done, Seen}}, #run{run = Run} = S) ->
    begun(StartedAt, S#run{done = Done, seen = Seen});
recovered(_None, S) ->
    S.
