%%% @doc The arguments of calls: checked before anything is sent, since a name of a wrong type would
%%% be taken for that of an absent node, and options are refused on the other node.
-module(partisan_arguments).

-export([check/3]).
-export([are_names/1]).
-export([milliseconds/2]).
-export([is_timeout/1]).
-export([wrong/2]).

%% `unknown': there is no option of this name.
-type validity() :: fun((Name :: atom(), Value :: term()) -> boolean() | unknown).
-type wrong() :: {bad_option, {Name :: atom(), Value :: term()}} | {unknown_option, Name :: atom()}.
-export_type([wrong/0]).

%% The longest timeout of a process.
-define(MAX_TIMEOUT, 16#FFFFFFFF).

%% @doc Fails with the reason, except for a proper list of names of nodes, and what they are to
%% execute: a fun or a function with its arguments. As in OTP, the list of these may be improper
%% here.
-spec check(Nodes :: term(), Work :: term(), Reason :: term()) -> ok.
check(Nodes, Work, Reason) ->
    _ = (are_names(Nodes) andalso is_work(Work)) orelse error(Reason),
    ok.

%% @doc Whether this is a proper list of names of nodes.
-spec are_names(term()) -> boolean().
are_names([Name | Names]) -> is_binary(Name) andalso are_names(Names);
are_names(Names) -> Names =:= [].

%% @doc The milliseconds of a time to wait, which may have passed. Others fail with the reason.
-spec milliseconds(Time :: term(), Reason :: term()) -> timeout().
milliseconds({abs, Time}, Reason) when is_integer(Time) ->
    milliseconds(partisan_deadline:remaining(Time), Reason);
milliseconds(Timeout, Reason) ->
    _ = is_timeout(Timeout) orelse error(Reason),
    Timeout.

%% @doc Whether a process can wait for so long: `infinity', or milliseconds from 0 to 2^32 - 1.
-spec is_timeout(term()) -> boolean().
is_timeout(infinity) -> true;
is_timeout(Timeout) -> is_integer(Timeout) andalso Timeout >= 0 andalso Timeout =< ?MAX_TIMEOUT.

%% @doc The options that are wrong.
-spec wrong(validity(), #{atom() => term()}) -> [wrong()].
wrong(IsValid, Options) ->
    lists:flatmap(
        fun({Name, Value}) ->
            case IsValid(Name, Value) of
                true -> [];
                false -> [{bad_option, {Name, Value}}];
                unknown -> [{unknown_option, Name}]
            end
        end,
        maps:to_list(Options)
    ).

%% Internals.

is_work({Module, Function, Arguments}) ->
    is_atom(Module) andalso is_atom(Function) andalso is_list(Arguments);
is_work(Fun) ->
    is_function(Fun, 0).
