-module(node_commands_tests).

%% Of processes.
-export([wait/0]).

-include_lib("eunit/include/eunit.hrl").

%% A process that has much of everything is among the first, whatever else these tests run.
processes_test_() ->
    {timeout, 600, fun() ->
        Busy = spawn_link(fun() -> busy(lists:seq(1, 1000000)) end),
        true = register(node_commands_busy, Busy),
        _ = [Busy ! waiting || _ <- lists:seq(1, 10000)],
        [
            begin
                #{processes := Count, run_queue := _, top := Top} = node_processes:top(
                    Order, 10, 100
                ),
                ?assert(Count > 10),
                ?assertEqual(10, length(Top)),
                ?assert(lists:member(<<"node_commands_busy">>, [Name || #{name := Name} <- Top])),
                Used = [maps:get(Order, Usage) || Usage <- Top],
                ?assertEqual(lists:reverse(lists:sort(Used)), Used)
            end
         || Order <- [memory, reductions, messages]
        ],
        true = unlink(Busy),
        true = exit(Busy, kill)
    end}.

busy(Kept) ->
    _ = lists:sum(Kept),
    busy(Kept).

names_test() ->
    #{top := Top, processes := Count} = node_processes:top(memory, 10000, 1),
    ?assertEqual(Count, length(Top)),
    ?assertEqual(lists:reverse(lists:sort([M || #{memory := M} <- Top])), [
        M
     || #{memory := M} <- Top
    ]),
    Mine = list_to_binary(pid_to_list(self())),
    ?assertEqual([], [Pid || #{pid := Pid} <- Top, Pid =:= Mine]),
    [Kernel] = [P || #{name := <<"kernel_sup">>} = P <- Top],
    #{current := Current, messages := 0} = Kernel,
    [Function, _Arity] = binary:split(Current, <<"/">>),
    % On OTP 29 a supervisor with nothing to do hibernates.
    Loops = [<<"gen_server:loop">>, <<"gen_server:loop_hibernate">>],
    ?assert(lists:member(Function, Loops)),
    Unnamed = [Name || #{name := Name} <- Top, binary:match(Name, <<":">>) =/= nomatch],
    ?assertNotEqual([], Unnamed).

starts_test() ->
    Pids = [spawn(?MODULE, wait, []), proc_lib:spawn(?MODULE, wait, [])],
    #{top := Top} = node_processes:top(memory, 10000, 1),
    Texts = [list_to_binary(pid_to_list(Pid)) || Pid <- Pids],
    Names = [Name || #{pid := Pid, name := Name} <- Top, lists:member(Pid, Texts)],
    ?assertEqual(lists:duplicate(2, <<"node_commands_tests:wait/0">>), Names),
    [true = exit(Pid, kill) || Pid <- Pids].

wait() ->
    receive
        never -> ok
    end.

session_test_() ->
    {timeout, 600, fun() ->
        Directory = partisan_test_directory:new(),
        {ok, Console} = node_console:start_link(Directory),
        try
            Answers = session(Directory, [
                "processes memory 2 1", "processes memory two 1", "nonsense"
            ]),
            ["{}", "{\"processes\":" ++ _, Badarg, Unknown] = Answers,
            ?assertEqual("{\"error\":\"error: badarg\"}", Badarg),
            ?assertEqual(
                "{\"error\":\"this node has no command nonsense of this form\"}", Unknown
            )
        after
            ok = gen_server:stop(Console),
            ok = file:del_dir_r(Directory)
        end
    end}.

%% The lines of JSON that a console writes for commands, before it ends with its input.
session(Directory, Commands) ->
    Typed = [[Line, $\n] || Line <- ["node_commands:serve()." | Commands]],
    Output = string:split(node_console_tests:session(Directory, Typed), "\n", all),
    [Line || "{" ++ _ = Line <- Output].
