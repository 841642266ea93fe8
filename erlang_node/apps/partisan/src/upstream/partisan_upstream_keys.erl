%%% @doc The keys of upstream Partisan's `sys.config', of versions 1 to 5, converted to the fields
%%% of {@link partisan_config}.
%%%
%%% <ul>
%%% <li>`name': an atom; `listen_addrs', `peer_ip', `peer_port': the address of this node ({@link
%%%     partisan_upstream_address});</li>
%%% <li>`peer_service_manager', `membership_strategy', `hyparview': the overlay ({@link
%%%     partisan_upstream_overlay}), by default upstream's, a full mesh;</li>
%%% <li>`peer_discovery': seeds ({@link partisan_upstream_discovery});</li>
%%% <li>`tls' with its options ({@link partisan_upstream_tls});</li>
%%% <li>`channels': names, `{Name, Options}', `{monotonic, Name}', or a map of options by name;</li>
%%% <li>`parallelism' or `parallel_connections': connections per neighbour of channels without a
%%%     number of their own; `parallel': whether there is more than one;</li>
%%% <li>`egress_delay', `ingress_delay': milliseconds, of channels without their own;</li>
%%% <li>`broadcast_mods', without upstream's own, and `exchange_tick_period': the broadcast handlers
%%%     and the period of their exchanges;</li>
%%% <li>keys without a counterpart have no effect, or must have a harmless value ({@link
%%%     partisan_upstream_unused}).</li>
%%% </ul>
%%% Other keys stay as they are, and {@link partisan_config:set/1} checks them.
-module(partisan_upstream_keys).

-export([converted/1]).

-import(partisan_upstream_value, [invalid/2]).

%% @doc The environment in terms of our fields, and the keys that have no effect. The error names
%% the key and the fix.
-spec converted(map()) ->
    {ok, Fields :: map(), WithoutEffect :: [string()]} | {error, Description :: string()}.
converted(Given) ->
    Steps = [
        fun partisan_upstream_unused:converted/1,
        % Before the name, whose host it may need.
        fun partisan_upstream_address:converted/1,
        fun name/1,
        % After the address, whose port is that of seeds.
        fun partisan_upstream_discovery:converted/1,
        fun partisan_upstream_tls:converted/1,
        fun partisan_upstream_overlay:converted/1,
        fun broadcast/1,
        fun channels/1
    ],
    try
        {WithoutEffect, Fields} = lists:mapfoldl(fun(Step, F) -> Step(F) end, Given, Steps),
        {ok, with_overlay(Fields, Given), lists:append(WithoutEffect)}
    catch
        throw:{invalid, Description} -> {error, lists:flatten(Description)}
    end.

%% Internals.

%% Upstream's default, for a configuration in its form; with our fields alone there is none.
with_overlay(Given, Given) -> Given;
with_overlay(Fields, _Given) -> maps:merge(#{overlay => {full_mesh, #{}}}, Fields).

name(#{name := Name} = Given) when is_atom(Name) -> {[], Given#{name := atom_to_binary(Name)}};
name(Given) -> {[], Given}.

broadcast(Given) ->
    {Modules, Fields} = taken(broadcast_mods, Given),
    {Period, Others} = taken(exchange_tick_period, Fields),
    Named = [{broadcast_handlers, M -- [partisan_plumtree_backend]} || {ok, M} <- [Modules]],
    Timed = [{broadcast_exchange_interval, P} || {ok, P} <- [Period]],
    {[], maps:merge(maps:from_list(Named ++ Timed), Others)}.

channels(Given) ->
    {Parallelism, Fields0} = parallelism(Given),
    Delays = maps:with([egress_delay, ingress_delay], Fields0),
    Fields = maps:without(maps:keys(Delays), Fields0),
    Default = maps:merge(Parallelism, Delays),
    Converted =
        case maps:take(channels, Fields) of
            error when map_size(Default) =:= 0 ->
                Fields;
            error ->
                Fields#{channels => [Default#{name => default}]};
            {Channels, Others} ->
                Others#{channels => [channel(C, Default) || C <- listed(Channels)]}
        end,
    {[], Converted}.

parallelism(Given) ->
    {Parallel, Fields} = taken(parallel, Given),
    {Number, Left} = taken(parallelism, Fields),
    {Connections, Others} = taken(parallel_connections, Left),
    case {[Off || {ok, Off} <- [Parallel], Off =/= enabled, Off =/= true], [Number, Connections]} of
        {[_], _} -> {#{parallelism => 1}, Others};
        {[], [error, error]} -> {#{}, Others};
        {[], [{ok, N}, _]} -> {#{parallelism => N}, Others};
        {[], [error, {ok, N}]} -> {#{parallelism => N}, Others}
    end.

listed(Channels) when is_map(Channels) -> lists:sort(maps:to_list(Channels));
listed(Channels) when is_list(Channels) -> Channels;
listed(Channels) ->
    invalid("channels is ~0p: give names, {Name, Options} or a map of options by name", [Channels]).

channel(Name, Default) when is_atom(Name) ->
    channel(#{name => Name}, Default);
channel({monotonic, Name}, Default) when is_atom(Name) ->
    channel(#{name => Name, monotonic => true}, Default);
channel({Name, Options}, Default) when is_list(Options) ->
    channel({Name, maps:from_list(proplists:unfold(Options))}, Default);
channel({Name, Options}, Default) when is_map(Options) ->
    channel(Options#{name => Name}, Default);
channel(#{compression := Compression} = Channel, Default) ->
    Compression =:= false orelse
        invalid("channels: compression is not supported; remove it from ~0p", [Channel]),
    channel(maps:remove(compression, Channel), Default);
channel(#{} = Channel, Default) ->
    maps:merge(Default, Channel);
channel(Channel, _Default) ->
    Channel.

taken(Key, Fields) ->
    case maps:take(Key, Fields) of
        {Value, Others} -> {{ok, Value}, Others};
        error -> {error, Fields}
    end.
