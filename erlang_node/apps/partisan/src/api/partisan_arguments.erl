%%% @doc The arguments of {@link partisan_erpc} and {@link partisan_rpc}: checked before anything is
%%% sent, since a name of a wrong type would be taken for that of an absent node. What is invalid
%%% fails with the caller's reason.
-module(partisan_arguments).

-export([check/3]).
-export([milliseconds/2]).

%% The longest timeout of a process.
-define(MAX_TIMEOUT, 16#FFFFFFFF).

%% @doc Checks a proper list of names of nodes, and what they are to execute: a fun or a function
%% with its arguments. As in OTP, the list of these may be improper here.
-spec check(Nodes :: term(), Work :: term(), Reason :: term()) -> ok.
check(Nodes, Work, Reason) ->
    _ = (are_nodes(Nodes) andalso is_work(Work)) orelse error(Reason),
    ok.

%% @doc The milliseconds of a time to wait, which may have passed.
-spec milliseconds(Time :: term(), Reason :: term()) -> timeout().
milliseconds(infinity, _Reason) ->
    infinity;
milliseconds(Timeout, _Reason) when
    is_integer(Timeout), Timeout >= 0, Timeout =< ?MAX_TIMEOUT
->
    Timeout;
milliseconds({abs, Time}, Reason) when is_integer(Time) ->
    milliseconds(partisan_deadline:remaining(Time), Reason);
milliseconds(_Timeout, Reason) ->
    error(Reason).

%% Internals.

are_nodes([Node | Nodes]) -> is_binary(Node) andalso are_nodes(Nodes);
are_nodes(Nodes) -> Nodes =:= [].

is_work({Module, Function, Arguments}) ->
    is_atom(Module) andalso is_atom(Function) andalso is_list(Arguments);
is_work(Fun) ->
    is_function(Fun, 0).
