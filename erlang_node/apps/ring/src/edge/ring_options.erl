%%% @doc The options of rings, calls and requests, as their users give them: completed with the
%%% defaults, or refused with a text that names the option and what it must be.
-module(ring_options).

-export([complete/2]).
-export([call/1]).
-export([refuse/1]).
-export([refuse/3]).

%% A transfer has one chunk of 256 KiB under way. Four keep 1 MiB on a link, 8 ms of 1 Gbit/s, which
%% is what a request may wait for them; over a round trip of 20 ms they carry 50 MB/s.
-define(TRANSFERS, 4).
-define(DEFAULTS, #{
    replicated => false,
    transport => ring_partisan,
    tick => 100,
    repair => never,
    grace => 60000,
    transfers => ?TRANSFERS,
    storage_delay => 0,
    value_bytes => 16777216,
    hint_count => 10000,
    hint_bytes => 67108864,
    hint_age => 0
}).
%% What every timer accepts: 49 days.
-define(LONGEST_MS, 16#FFFFFFFF).
-define(MILLISECONDS, "milliseconds, 1 to 4294967295").

%% @doc All options of a ring of that name. The transport is asked whether it can serve the ring.
-spec complete(Ring :: term(), Given :: term()) ->
    {ok, ring_table:options()} | {error, Description :: string()}.
complete(Ring, _Given) when not is_atom(Ring); Ring =:= undefined ->
    {error, text("name: ~0tP is no name of a ring, an atom", [Ring, 20])};
complete(_Ring, #{service := _} = Given) ->
    Options = maps:merge(?DEFAULTS, Given),
    case lists:flatmap(fun wrong/1, lists:sort(maps:to_list(Options))) of
        [Description | _] -> {error, Description};
        [] -> usable(Options)
    end;
complete(_Ring, #{}) ->
    {error, "service: missing; name a module of behaviour ring_vnode"};
complete(_Ring, Given) ->
    {error, text("options: ~0tP is not a map", [Given, 20])}.

%% @doc The options of a call ({@link ring_call}); others are an error `{bad_option, Description}'.
-spec call(term()) -> ring_call:options().
call(#{} = Options) ->
    ok = maps:foreach(
        fun(Name, Value) ->
            lists:member(Name, [timeout, retry]) orelse refuse(Name),
            is_milliseconds(Value) orelse refuse(Name, Value, ?MILLISECONDS)
        end,
        Options
    ),
    Options;
call(Options) ->
    refuse(options, Options, "a map").

%% @doc The error of an option that a request does not have.
-spec refuse(Name :: term()) -> no_return().
refuse(Name) ->
    error({bad_option, text("~0tp: is no option of a request", [Name])}).

%% @doc The error of a value that an option of a request must not have.
-spec refuse(Name :: term(), Value :: term(), Wanted :: string()) -> no_return().
refuse(Name, Value, Wanted) ->
    error({bad_option, wanted(Name, Value, Wanted)}).

%% Internals.

wrong({Name, Value}) ->
    case rule(Name, Value) of
        true -> [];
        unknown -> [text("~0tp: is no option of a ring", [Name])];
        {false, Wanted} -> [wanted(Name, Value, Wanted)]
    end.

rule(service, Value) -> is_atom(Value) orelse {false, "a module of behaviour ring_vnode"};
rule(transport, Value) -> is_atom(Value) orelse {false, "a module of behaviour ring_transport"};
rule(replicated, Value) -> is_boolean(Value) orelse {false, "true or false"};
rule(tick, Value) -> is_milliseconds(Value) orelse {false, ?MILLISECONDS};
rule(repair, never) -> true;
rule(repair, Value) -> is_milliseconds(Value) orelse {false, ?MILLISECONDS ", or never"};
rule(transfers, infinity) -> true;
rule(transfers, Value) when is_integer(Value), Value >= 1 -> true;
rule(transfers, _) -> {false, "at least 1, or infinity"};
rule(value_bytes, Value) ->
    is_integer(Value) andalso Value >= 1 orelse {false, "an integer from 1"};
rule(Name, Value) when Name =:= hint_count; Name =:= hint_bytes ->
    is_integer(Value) andalso Value >= 0 orelse {false, "an integer from 0"};
rule(Name, Value) when Name =:= grace; Name =:= storage_delay; Name =:= hint_age ->
    Value =:= 0 orelse is_milliseconds(Value) orelse {false, "milliseconds, 0 to 4294967295"};
rule(_Name, _Value) ->
    unknown.

usable(#{service := Service, transport := Transport} = Options) ->
    case lacks(service, Service, ring_vnode) ++ lacks(transport, Transport, ring_transport) of
        [Description | _] ->
            {error, Description};
        [] ->
            case Transport:check() of
                ok -> {ok, Options};
                {error, _} = Error -> Error
            end
    end.

lacks(Name, Module, Behaviour) ->
    case code:ensure_loaded(Module) of
        {module, Module} ->
            [
                text("~s: the module ~tp lacks ~s/~b of behaviour ~s", [
                    Name, Module, Function, Arity, Behaviour
                ])
             || {Function, Arity} <- Behaviour:behaviour_info(callbacks),
                not erlang:function_exported(Module, Function, Arity)
            ];
        {error, Reason} ->
            [text("~s: the module ~tp cannot be loaded: ~0tp", [Name, Module, Reason])]
    end.

is_milliseconds(Value) ->
    is_integer(Value) andalso Value >= 1 andalso Value =< ?LONGEST_MS.

wanted(Name, Value, Wanted) ->
    text("~0tp: ~0tP must be ~s", [Name, Value, 20, Wanted]).

text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
