%%% @doc The processes of this virtual machine that use most of a resource, as `kubectl partisan
%%% processes' shows them.
-module(node_processes).

-export([top/3]).

-export_type([order/0]).

%% `reductions': by their rate. `messages': those that wait in the mailbox.
-type order() :: memory | reductions | messages.

-type usage() :: #{
    pid := pid(),
    memory := non_neg_integer(),
    reductions := non_neg_integer(),
    messages := non_neg_integer()
}.

%% @doc The first `Count' processes in an order, and figures of the virtual machine. Takes so many
%% milliseconds, in which it counts reductions.
-spec top(order(), Count :: pos_integer(), Milliseconds :: pos_integer()) -> node_json:json().
top(Order, Count, Milliseconds) ->
    Before = maps:from_list([{Pid, N} || Pid <- processes(), N <- reductions(Pid)]),
    Started = erlang:monotonic_time(microsecond),
    ok = timer:sleep(Milliseconds),
    Seconds = (erlang:monotonic_time(microsecond) - Started) / 1000000,
    % Without the process that answers.
    Used = [Usage || Pid <- processes(), Pid =/= self(), Usage <- usage(Pid, Before)],
    Sorted = lists:sort(fun(A, B) -> key(Order, A) >= key(Order, B) end, Used),
    #{
        processes => length(Used),
        run_queue => erlang:statistics(total_run_queue_lengths),
        top => [described(Usage, Seconds) || Usage <- lists:sublist(Sorted, Count)]
    }.

%% Internals.

%% A process may end at any moment: it is then left out.
reductions(Pid) ->
    [Count || {reductions, Count} <- [process_info(Pid, reductions)]].

-spec usage(pid(), #{pid() => non_neg_integer()}) -> [usage()].
usage(Pid, Before) ->
    case process_info(Pid, [memory, reductions, message_queue_len]) of
        undefined ->
            [];
        [{memory, Memory}, {reductions, Reductions}, {message_queue_len, Messages}] ->
            [
                #{
                    pid => Pid,
                    memory => Memory,
                    % A process that did not exist before began with none.
                    reductions => Reductions - maps:get(Pid, Before, 0),
                    messages => Messages
                }
            ]
    end.

key(Order, #{pid := Pid} = Usage) ->
    {maps:get(Order, Usage), Pid}.

described(#{pid := Pid, reductions := Reductions} = Usage, Seconds) ->
    Usage#{
        pid := list_to_binary(pid_to_list(Pid)),
        reductions := round(Reductions / Seconds),
        name => name(Pid),
        current => current(Pid)
    }.

%% The registered name, or else the function that it started with.
name(Pid) ->
    case process_info(Pid, registered_name) of
        {registered_name, Name} -> text("~tw", [Name]);
        _ -> function(started_with(Pid))
    end.

started_with(Pid) ->
    case proc_lib:translate_initial_call(Pid) of
        % Of a process that `proc_lib' has not started, or that has ended.
        {proc_lib, init_p, 5} = Unknown ->
            case process_info(Pid, initial_call) of
                {initial_call, Function} -> Function;
                undefined -> Unknown
            end;
        Function ->
            Function
    end.

current(Pid) ->
    case process_info(Pid, current_function) of
        {current_function, {_, _, _} = Function} -> function(Function);
        _ -> <<"-">>
    end.

function({Module, Function, Arity}) ->
    text("~tw:~tw/~b", [Module, Function, Arity]).

text(Format, Arguments) ->
    unicode:characters_to_binary(io_lib:format(Format, Arguments)).
