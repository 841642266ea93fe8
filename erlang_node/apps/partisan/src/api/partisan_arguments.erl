%%% @doc The arguments of {@link partisan_erpc} and {@link partisan_rpc}: checked before anything is
%%% sent, since a name of a wrong type would be taken for that of an absent node.
-module(partisan_arguments).

-export([are_nodes/1]).
-export([is_work/1]).
-export([milliseconds/1]).

%% The longest timeout of a process.
-define(MAX_TIMEOUT, 16#FFFFFFFF).

%% @doc Whether this is a proper list of names of nodes.
-spec are_nodes(term()) -> boolean().
are_nodes([Node | Nodes]) -> is_binary(Node) andalso are_nodes(Nodes);
are_nodes(Nodes) -> Nodes =:= [].

%% @doc Whether this can be executed. As in OTP, the list of arguments may be improper here.
-spec is_work(term()) -> boolean().
is_work({Module, Function, Arguments}) ->
    is_atom(Module) andalso is_atom(Function) andalso is_list(Arguments);
is_work(Fun) ->
    is_function(Fun, 0).

%% @doc The milliseconds of a time to wait, which may have passed.
-spec milliseconds(term()) -> {ok, timeout()} | error.
milliseconds(infinity) ->
    {ok, infinity};
milliseconds(Timeout) when is_integer(Timeout), Timeout >= 0, Timeout =< ?MAX_TIMEOUT ->
    {ok, Timeout};
milliseconds({abs, Time}) when is_integer(Time) ->
    milliseconds(partisan_deadline:remaining(Time));
milliseconds(_) ->
    error.
