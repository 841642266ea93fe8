%%% @doc The keys of upstream Partisan's `sys.config', converted to the fields of {@link
%%% partisan_config}.
%%%
%%% <ul>
%%% <li>`name': an atom; `peer_ip', `peer_port': the address of this node;</li>
%%% <li>`peer_service_manager', `membership_strategy': the name of upstream's module, a kind of
%%%     {@link partisan_overlay_registry}, or an overlay module of one's own; with
%%%     `max_active_size', `min_active_size', `max_passive_size', `arwl' and `prwl' for HyParView;
%%%     </li>
%%% <li>`channels': names, `{Name, Options}', or a map of options by name;</li>
%%% <li>`parallelism' or `parallel_connections': connections per neighbour of channels without a
%%%     number of their own; `parallel': whether there is more than one;</li>
%%% <li>`egress_delay', `ingress_delay': milliseconds, of channels without their own;</li>
%%% <li>`broadcast_mods', without upstream's own, and `exchange_tick_period': the broadcast handlers
%%%     and the period of their exchanges;</li>
%%% <li>`affinity': must be enabled. Messages of one sender, or of one partition key, always share a
%%%     connection here.</li>
%%% </ul>
%%% Other keys stay as they are, and {@link partisan_config:set/1} checks them.
-module(partisan_upstream_keys).

-export([converted/1]).

-define(VIEW, [
    {max_active_size, active_max},
    {min_active_size, active_min},
    {max_passive_size, passive_max},
    {arwl, active_random_walk_length},
    {prwl, passive_random_walk_length}
]).

%% @doc The environment in terms of our fields. The error names the key and the fix.
-spec converted(map()) -> {ok, map()} | {error, Description :: string()}.
converted(Given) ->
    try
        Steps = [
            fun name/1,
            fun address/1,
            fun affinity/1,
            fun overlay/1,
            fun broadcast/1,
            fun channels/1
        ],
        {ok, lists:foldl(fun(Step, Fields) -> Step(Fields) end, Given, Steps)}
    catch
        throw:{invalid, Description} -> {error, lists:flatten(Description)}
    end.

%% Internals.

name(#{name := Name} = Given) when is_atom(Name) -> Given#{name := atom_to_binary(Name)};
name(Given) -> Given.

address(Given) ->
    {Ip, Fields} = taken(peer_ip, Given),
    {Port, Others} = taken(peer_port, Fields),
    Address = [{Field, Value} || {ok, Value} <- [Ip], Field <- [host, listen_ip]],
    maps:merge(maps:from_list(Address ++ [{listen_port, P} || {ok, P} <- [Port]]), Others).

affinity(Given) ->
    case taken(affinity, Given) of
        {{ok, Off}, _} when Off =/= enabled, Off =/= true ->
            invalid(
                "affinity is ~0p: messages of one sender or partition key always share a connection"
                " here; set enabled, or remove it",
                [Off]
            );
        {_, Fields} ->
            Fields
    end.

%% The strategy decides where upstream has both: its manager is then the pluggable one.
overlay(Given) ->
    {Manager, Fields} = taken(peer_service_manager, Given),
    {Strategy, Others} = taken(membership_strategy, Fields),
    Named =
        [{membership_strategy, Name} || {ok, Name} <- [Strategy]] ++
            [{peer_service_manager, Name} || {ok, Name} <- [Manager]],
    case {Named, Others} of
        {[], _} -> Others;
        {[{Key, _} | _], #{overlay := _}} ->
            invalid("~s and overlay are both set; remove one", [Key]);
        {[{Key, Name} | _], _} ->
            with_view(kind(Key, Name), Others)
    end.

with_view(Kind, Fields) when Kind =:= hyparview; Kind =:= xbot ->
    Given = [{Key, Ours} || {Key, Ours} <- ?VIEW, is_map_key(Key, Fields)],
    Parameters = maps:from_list([{Ours, map_get(Key, Fields)} || {Key, Ours} <- Given]),
    (maps:without([Key || {Key, _} <- Given], Fields))#{overlay => {Kind, Parameters}};
with_view(Kind, Fields) ->
    Fields#{overlay => {Kind, #{}}}.

kind(_Key, partisan_pluggable_peer_service_manager) -> full_mesh;
kind(_Key, partisan_default_peer_service_manager) -> full_mesh;
kind(_Key, partisan_full_membership_strategy) -> full_mesh;
kind(_Key, partisan_hyparview_peer_service_manager) -> hyparview;
kind(_Key, partisan_hyparview_xbot_peer_service_manager) -> xbot;
kind(_Key, partisan_scamp_v1_membership_strategy) -> scamp_v1;
kind(_Key, partisan_scamp_v2_membership_strategy) -> scamp_v2;
kind(Key, partisan_client_server_peer_service_manager) -> needs(Key, client_server, "servers");
kind(Key, partisan_static_peer_service_manager) -> needs(Key, static, "edges");
kind(Key, client_server) -> needs(Key, client_server, "servers");
kind(Key, publish_subscribe) -> needs(Key, publish_subscribe, "brokers");
kind(Key, static) -> needs(Key, static, "edges");
kind(Key, Name) ->
    partisan_overlay_registry:is_usable(Name) orelse
        invalid(
            "~s is ~0p, which is no overlay: give a module of upstream Partisan, one of ~0p, or a"
            " partisan_overlay module in the code path",
            [Key, Name, partisan_overlay_registry:known()]
        ),
    Name.

-spec needs(atom(), atom(), string()) -> no_return().
needs(Key, Kind, Parameter) ->
    invalid("~s: ~s needs names of nodes; remove it and set overlay => {~s, #{~s => [...]}}", [
        Key, Kind, Kind, Parameter
    ]).

broadcast(Given) ->
    {Modules, Fields} = taken(broadcast_mods, Given),
    {Period, Others} = taken(exchange_tick_period, Fields),
    Named = [{broadcast_handlers, M -- [partisan_plumtree_backend]} || {ok, M} <- [Modules]],
    Timed = [{broadcast_exchange_interval, P} || {ok, P} <- [Period]],
    maps:merge(maps:from_list(Named ++ Timed), Others).

channels(Given) ->
    {Parallelism, Fields0} = parallelism(Given),
    Delays = maps:with([egress_delay, ingress_delay], Fields0),
    Fields = maps:without(maps:keys(Delays), Fields0),
    Default = maps:merge(Parallelism, Delays),
    case maps:take(channels, Fields) of
        error when map_size(Default) =:= 0 -> Fields;
        error -> Fields#{channels => [Default#{name => default}]};
        {Channels, Others} -> Others#{channels => [channel(C, Default) || C <- listed(Channels)]}
    end.

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

channel(Name, Default) when is_atom(Name) -> channel(#{name => Name}, Default);
channel({Name, Options}, Default) when is_list(Options) ->
    channel({Name, maps:from_list(proplists:unfold(Options))}, Default);
channel({Name, Options}, Default) when is_map(Options) -> channel(Options#{name => Name}, Default);
channel(#{compression := Compression} = Channel, Default) ->
    Compression =:= false orelse
        invalid("channels: compression is not supported; remove it from ~0p", [Channel]),
    channel(maps:remove(compression, Channel), Default);
channel(#{} = Channel, Default) -> maps:merge(Default, Channel);
channel(Channel, _Default) -> Channel.

taken(Key, Fields) ->
    case maps:take(Key, Fields) of
        {Value, Others} -> {{ok, Value}, Others};
        error -> {error, Fields}
    end.

-spec invalid(io:format(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, io_lib:format(Format, Arguments)}).
