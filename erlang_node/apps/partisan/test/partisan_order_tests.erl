%%% @doc The guarantees of docs/explanation/delivery.md, a property for each sentence: on real
%%% nodes, with broken connections, processes that end and nodes that are killed and started again.
-module(partisan_order_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-import(partisan_test_cluster, [call/4, connected/1, name/1, await/1, await/2]).

%% On the nodes.
-export([run_script/2, run_and_end/2, flood/3]).

-define(CHANNELS, [
    #{name => default, parallelism => 3},
    #{name => bulk, parallelism => 4},
    #{name => sure, acknowledged => true}
]).
-define(MAILBOX, 50).
-define(SETTINGS, #{
    channels => ?CHANNELS,
    lane_queue_bytes => 1 bsl 20,
    mailbox_messages => ?MAILBOX,
    % A slow node must not be taken for dead.
    heartbeat_interval => 60000
}).

pair_test_() ->
    {setup, fun pair/0, fun partisan_test_cluster:stop/1, fun(Nodes) ->
        [
            {Title, {timeout, 240, fun() -> ?assert(check(Property(Nodes), Runs)) end}}
         || {Title, Runs, Property} <- [
                {"messages of a key arrive in order, at most once", 60, fun prop_order/1},
                {"also across reconnections", 30, fun prop_reconnections/1},
                {"acknowledged messages arrive once", 30, fun prop_once/1},
                {"DOWN comes after what the process has sent", 40, fun prop_down/1}
            ]
        ]
    end}.

incarnations_test_() ->
    {"a restarted node's previous incarnation is over before the next one is heard",
        {timeout, 300, fun() -> ?assert(check(prop_incarnations(), 4)) end}}.

check(Property, Runs) ->
    proper:quickcheck(Property, [{to_file, user}, {numtests, Runs}, {max_size, 100}, noshrink]).

%% "Messages of one sender, or one `partition_key', to one process on one channel arrive in the
%% order in which they were sent, acknowledged or not"; "Without `ack' a message arrives at most
%% once".
prop_order([A, B]) ->
    ?FORALL(Script, script([]), begin
        Sent = run(Script, A, B),
        Arrived = arrived(B),
        all_keys(fun(Theirs, Ours) -> Theirs =:= Ours end, Arrived, Sent)
    end).

%% "through reconnections": some may be lost, none overtakes another or comes twice.
prop_reconnections([A, B]) ->
    ?FORALL(Script, script([{1, break}]), begin
        Sent = run(Script, A, B),
        Arrived = arrived(B),
        all_keys(fun is_subsequence/2, Arrived, Sent)
    end).

%% "It is sent again until it arrives, and delivered once."
prop_once([A, B]) ->
    ?FORALL(Script, script([{1, break}]), begin
        Acknowledged = [{send, K, C, Kind, S} || {send, K, C, Kind, S} <- Script, Kind =/= plain],
        Breaks = [break || break <- Script],
        Sent = run(Breaks ++ Acknowledged ++ Breaks, A, B),
        lists:sort(arrived(B)) =:= lists:sort(Sent)
    end).

%% "`DOWN' comes after all that the process has sent on `default' under no `partition_key'".
prop_down([A, B]) ->
    ?FORALL(Script, list({send, self, default, kind(), size()}), begin
        ok = call(B, partisan_test_sink, start, [sink]),
        Sender = call(A, ?MODULE, run_and_end, [name(B), Script]),
        _ = call(B, partisan_test_sink, run, [sink, {partisan, monitor, [process, Sender]}]),
        ok = call(A, partisan, forward, [Sender, go]),
        ok = await(fun() -> call(B, partisan_test_sink, count, [sink]) > length(Script) end),
        Messages = call(B, partisan_test_sink, take, [sink, length(Script) + 1]),
        ok = call(B, partisan_test_sink, stop, [sink]),
        {Before, [Down]} = lists:split(length(Script), Messages),
        element(1, Down) =:= 'DOWN' andalso
            [N || {_, _, N, _} <- Before] =:= lists:seq(1, length(Script))
    end).

%% "What a previous incarnation of a node has sent comes before anything of the next one, and before
%% the `nodedown' that reports its end".
prop_incarnations() ->
    ?FORALL(
        {Channel, Size, Before, IsMonitored},
        {oneof([default, bulk, sure]), range(100, 5000), range(500, 3000), boolean()},
        begin
            [B, A] = partisan_test_cluster:start(2, ?SETTINGS),
            ok = connected([A, B]),
            ok = call(B, partisan_test_sink, start, [sink]),
            _ = IsMonitored andalso
                call(B, partisan_test_sink, run, [sink, {partisan, monitor_node, [name(A)]}]),
            % Slow: many arrivals stay in the mailbox.
            ok = call(B, partisan_test_sink, pause, [sink]),
            ok = call(A, ?MODULE, flood, [name(B), Channel, {first, Before, Size}]),
            ok = await(fun() -> call(B, partisan_test_sink, waiting, [sink]) > ?MAILBOX end),
            ok = partisan_test_cluster:kill(A),
            #{net := Net, configuration := Configuration} = A,
            Again = partisan_test_cluster:start_node(Net, Configuration),
            ok = connected([Again, B]),
            ok = call(Again, ?MODULE, flood, [name(B), default, {second, 20, Size}]),
            ok = call(B, partisan_test_sink, resume, [sink]),
            % An acknowledged message on each channel: nothing is in flight after it.
            [
                ok = call(Again, partisan, forward, [name(B), sink, {second, last, <<>>}, Options])
             || C <- [default, bulk, sure], Options <- [#{channel => C, ack => true}]
            ],
            ok = await(
                fun() -> call(B, partisan_test_sink, has, [sink, expected(IsMonitored, A)]) end,
                30000
            ),
            Count = call(B, partisan_test_sink, count, [sink]),
            Kinds = [kind_of(M) || M <- call(B, partisan_test_sink, take, [sink, Count])],
            ok = partisan_test_cluster:stop([Again, B]),
            Rest = lists:dropwhile(fun(Kind) -> Kind =:= first end, Kinds),
            not lists:member(first, Rest) andalso hd(Kinds) =:= first
        end
    ).

expected(true, A) -> [{nodedown, name(A)}];
expected(false, _) -> [].

kind_of({nodedown, _}) -> nodedown;
kind_of({Kind, _, _}) -> Kind.

%% Generators.

script(Others) ->
    list(
        frequency([
            {10, {send, oneof([self, one, two]), channel(), kind(), size()}}
            | Others
        ])
    ).

channel() -> oneof([default, bulk, sure]).
kind() -> frequency([{4, plain}, {3, notify}, {1, ack}]).
size() -> frequency([{4, range(1, 500)}, {1, range(10000, 100000)}]).

%% Helpers.

pair() ->
    partisan_test_cluster:start_connected(2, ?SETTINGS).

%% Sends everything, then an acknowledged message of each key, which marks its end.
run(Script, A, B) ->
    ok = call(B, partisan_test_sink, start, [sink]),
    Ends = [{send, K, C, ack, 1} || K <- [self, one, two], C <- [default, bulk, sure]],
    All = Script ++ Ends,
    ok = call(A, ?MODULE, run_script, [name(B), All]),
    Sends = [Step || {send, _, _, _, _} = Step <- All],
    [
        {Key, Channel, Number, Size}
     || {Number, {send, Key, Channel, _, Size}} <- lists:zip(lists:seq(1, length(Sends)), Sends)
    ].

arrived(B) ->
    Arrived = call(B, partisan_test_sink, take, [sink, call(B, partisan_test_sink, count, [sink])]),
    ok = call(B, partisan_test_sink, stop, [sink]),
    [{Key, Channel, Number, byte_size(Payload)} || {Key, Channel, Number, Payload} <- Arrived].

%% Prints the details of a failure.
all_keys(Holds, Arrived, Sent) ->
    Keys = lists:usort([{Key, Channel} || {Key, Channel, _, _} <- Sent]),
    Pairs = [{Key, of_key(Key, Arrived), of_key(Key, Sent)} || Key <- Keys],
    Wrong = [Pair || {_, Theirs, Ours} = Pair <- Pairs, not Holds(Theirs, Ours)],
    ?WHENFAIL(io:format(user, "~w~n", [Wrong]), Wrong =:= []).

of_key({Key, Channel}, All) -> [M || {K, C, _, _} = M <- All, K =:= Key, C =:= Channel].

is_subsequence([], _) -> true;
is_subsequence([M | Ms], [M | All]) -> is_subsequence(Ms, All);
is_subsequence(Ms, [_ | All]) -> is_subsequence(Ms, All);
is_subsequence(_, []) -> false.

%% On the nodes.

run_script(To, Script) ->
    _ = lists:foldl(fun(Step, Number) -> step(Step, Number, To) end, 1, Script),
    ok.

step(break, Number, _To) ->
    ok = partisan_test_cluster:break_connections(),
    Number;
step({send, Key, Channel, Kind, Size}, Number, To) ->
    Options = maps:merge(key(Key), kind(Kind, Number)),
    Message = {Key, Channel, Number, binary:copy(<<Number>>, Size)},
    ok = partisan:forward(To, sink, Message, Options#{channel => Channel}),
    Number + 1.

key(self) -> #{};
key(Key) -> #{partition_key => Key}.

kind(plain, _) -> #{};
kind(notify, Number) -> #{ack => {notify, Number}};
kind(ack, _) -> #{ack => true}.

%% Waits for a word, sends, and ends.
run_and_end(To, Script) ->
    Pid = spawn(fun() ->
        receive go -> run_script(To, Script) end
    end),
    partisan:ref(Pid).

%% All at once, while there is room.
flood(To, Channel, {Kind, Count, Size}) ->
    _ = [
        spawn(fun() ->
            [
                partisan:forward(To, sink, {Kind, {Sender, N}, rand:bytes(Size)}, #{
                    channel => Channel, ack => N rem 2 =:= 0 andalso {notify, N}, timeout => 60000
                })
             || N <- lists:seq(1, Count div 10)
            ]
        end)
     || Sender <- lists:seq(1, 10)
    ],
    ok.
