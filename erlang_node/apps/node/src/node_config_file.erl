%%% @doc The configuration file of a node: its keys, what each of them must be, and how it is read.
%%%
%%% Errors are thrown as `{invalid, Text}', with the place and the fix in one line.
-module(node_config_file).

-export([read/1]).
-export([parse/2]).
-export([get/2]).
-export([optional/3]).
-export([warnings/1]).
-export([workload_module/1]).
-export([peer/1]).
-export([is_hint/1]).
-export([invalid/1]).
-export([invalid/2]).

-type settings() :: #{atom() => term()}.
-export_type([settings/0]).

%% A `PartisanCluster' has at most 1,024; a benchmark has as many clients plus servers.
-define(MAX_REPLICAS, 2048).

%% @doc The settings of a file. file:consult/1 would load a good part of the compiler for its one
%% term.
-spec read(file:name_all()) -> settings().
read(File) ->
    case file:read_file(File) of
        {ok, Text} -> parse(Text, File);
        {error, Reason} -> invalid("~ts cannot be read: ~ts", [File, file:format_error(Reason)])
    end.

%% @doc The settings of a text; `Source' is what errors call it.
-spec parse(binary(), Source :: file:name_all()) -> settings().
parse(Text, Source) ->
    maybe_map(erl_scan:string(unicode:characters_to_list(Text, latin1)), Source).

%% @doc The value of a key that must be there.
-spec get(Key :: atom(), settings()) -> term().
get(Key, Settings) ->
    #{Key := {IsValid, Wanted}} = keys(),
    case Settings of
        #{Key := Value} ->
            IsValid(Value) orelse invalid("~s must be ~s, not ~0tP", [Key, Wanted, Value, 20]),
            Value;
        #{} ->
            invalid("~s is missing: ~s", [Key, Wanted])
    end.

%% @doc The value of a key that may be left out.
-spec optional(Key :: atom(), Default :: term(), settings()) -> term().
optional(Key, Default, Settings) ->
    get(Key, maps:merge(#{Key => Default}, Settings)).

%% @doc Warnings about keys that are ignored.
-spec warnings(settings()) -> [string()].
warnings(Settings) ->
    Parameters =
        case Settings of
            #{workload := {Kind, Given}} ->
                Module = workload_module(Kind),
                [{workload, Key} || Key <- maps:keys(maps:without(maps:keys(Module:parameters()),
                    Given))];
            #{} ->
                []
        end,
    Unknown = maps:keys(maps:without(maps:keys(keys()), Settings)) ++ Parameters,
    [lists:flatten(io_lib:format("unknown key ~0tp is ignored", [Key])) || Key <- Unknown].

%% @doc The module of a kind of workload.
-spec workload_module(Kind :: atom()) -> module().
workload_module(Kind) ->
    case workload:find(Kind) of
        {ok, Module} -> Module;
        {error, Text} -> invalid("workload: ~ts", [Text])
    end.

%% @doc The peer that an address hint describes.
-spec peer({Name :: binary(), Host :: binary(), inet:port_number()}) -> partisan_peer:t().
peer({Name, Host, Port}) ->
    Text = binary_to_list(Host),
    case inet:parse_strict_address(Text) of
        {ok, Address} -> partisan_peer:new(Name, Address, Port);
        {error, einval} -> partisan_peer:new(Name, Text, Port)
    end.

%% @doc Whether a term is an address hint.
-spec is_hint(term()) -> boolean().
is_hint({Name, Host, Port}) -> is_name(Name) andalso is_name(Host) andalso is_port_number(Port);
is_hint(_) -> false.

%% @doc Rejects the configuration.
-spec invalid(string()) -> no_return().
invalid(Text) ->
    invalid(Text, []).

%% @doc Rejects the configuration with a formatted text.
-spec invalid(io:format(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, unicode:characters_to_list(io_lib:format(Format, Arguments))}).

%% Internals: the keys.

keys() ->
    #{
        cluster => {fun is_name/1, "the cluster's name, a binary such as <<\"ads\">>"},
        namespace => {fun is_binary/1, "a binary"},
        replicas => {fun is_replicas/1, "an integer from 1 to 2048"},
        seeds => {fun are_seeds/1, "a list of {Name, Host, Port}, binaries and a port number"},
        listen_port => {fun is_port_number/1, "a port number from 1 to 65535"},
        http_port => {fun is_port_number/1, "a port number from 1 to 65535"},
        overlay => {fun node_overlay:is_valid/1,
            "{Kind, #{...}} with what that kind needs: client_server #{servers => [Name]}, "
            "publish_subscribe #{brokers => [Name]}, "
            "static #{edges => [{Ordinal, Ordinal}]}"},
        heartbeat_interval => {fun is_milliseconds/1, "milliseconds, an integer of at least 1"},
        channels => {fun are_channels/1, "a list of maps such as #{name => gossip}"},
        workload => {fun is_workload/1, "none or {Module, #{...}}, such as {adcounter, #{...}}"},
        run => {fun is_binary/1, "the run id, a binary"},
        tls => {fun(Value) -> Value =:= none orelse is_map(Value) end,
            "none or #{certfile, keyfile, cacertfile => files, server_name => a DNS name}"},
        % partisan_config checks the names.
        reachable => {fun(Value) -> Value =:= applications orelse is_list(Value) end,
            "applications, or a list of names and of {Name, messages}"},
        remote_execution => {fun are_atoms/1, "a list of modules"},
        development => {fun is_boolean/1, "true or false"},
        revision => {fun is_binary/1, "a binary that differs after each change"}
    }.

is_name(Value) -> is_binary(Value) andalso Value =/= <<>>.

is_replicas(Value) -> is_integer(Value) andalso Value >= 1 andalso Value =< ?MAX_REPLICAS.

is_milliseconds(Value) -> is_integer(Value) andalso Value >= 1.

is_port_number(Value) -> is_integer(Value) andalso Value >= 1 andalso Value =< 65535.

are_seeds(Value) -> is_list(Value) andalso lists:all(fun is_hint/1, Value).

are_atoms(Value) -> is_list(Value) andalso lists:all(fun is_atom/1, Value).

are_channels(Value) -> is_list(Value) andalso lists:all(fun is_map/1, Value).

is_workload(none) ->
    true;
is_workload({Kind, Given}) ->
    is_atom(Kind) andalso is_map(Given);
is_workload(_) ->
    false.

%% Internals: reading.

maybe_map({ok, Tokens, _}, Source) ->
    case erl_parse:parse_term(Tokens) of
        {ok, Settings} when is_map(Settings) -> Settings;
        {ok, _} -> invalid("~ts must hold one map, ended by a full stop", [Source]);
        {error, {Line, _, Reason}} -> unreadable(Source, Line, erl_parse:format_error(Reason))
    end;
maybe_map({error, {Line, _, Reason}, _}, Source) ->
    unreadable(Source, Line, erl_scan:format_error(Reason)).

-spec unreadable(string(), erl_anno:location(), io_lib:chars()) -> no_return().
unreadable(Source, Line, Reason) ->
    invalid("line ~0tp of ~ts cannot be read: ~ts", [Line, Source, Reason]).
