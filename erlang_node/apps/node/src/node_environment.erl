%%% @doc Reads environment variables of a node. One that is empty counts as not set. Throws
%%% `{invalid, Text}'.
-module(node_environment).

-export([required/2]).
-export([path/3]).
-export([mounted/3]).
-export([address/2]).

-import(node_config_file, [invalid/2]).

-type t() :: fun((Variable :: string()) -> string() | false).

-export_type([t/0]).

%% @doc The value of a variable that must be set.
-spec required(t(), string()) -> string().
required(Environment, Variable) ->
    case Environment(Variable) of
        Value when Value =:= false; Value =:= "" ->
            invalid("the environment variable ~s is not set", [Variable]);
        Value ->
            Value
    end.

%% @doc The path in a variable, or else the default.
-spec path(t(), string(), Default) -> string() | Default.
path(Environment, Variable, Default) ->
    case Environment(Variable) of
        Value when Value =:= false; Value =:= "" -> Default;
        Value -> Value
    end.

%% @doc The file whose path is in a variable, which must exist, or else the one of a pod, which need
%% not.
-spec mounted(t(), string(), OfPod :: file:filename()) -> {file, file:filename()} | none.
mounted(Environment, Variable, OfPod) ->
    case path(Environment, Variable, none) of
        none ->
            case filelib:is_regular(OfPod) of
                true -> {file, OfPod};
                false -> none
            end;
        File ->
            {file, File}
    end.

%% @doc The IP address in the text of a variable.
-spec address(string(), string()) -> inet:ip_address().
address(Variable, Text) ->
    case inet:parse_strict_address(Text) of
        {ok, Address} -> Address;
        {error, einval} -> invalid("~s must be an IP address, not ~ts", [Variable, Text])
    end.
