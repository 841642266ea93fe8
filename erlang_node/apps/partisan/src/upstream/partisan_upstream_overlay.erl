%%% @doc Upstream Partisan's overlay: `peer_service_manager' and `membership_strategy', with the
%%% parameters of its HyParView.
%%%
%%% Both are the name of upstream's module, a kind of {@link partisan_overlay_registry}, or an
%%% overlay module of one's own. As upstream, a strategy is that of the pluggable manager; another
%%% manager has its own. Parameters are the properties of `hyparview', or keys of the same name, or
%%% of that in earlier versions.
-module(partisan_upstream_overlay).

-export([converted/1]).

-import(partisan_upstream_value, [pairs/1, invalid/2]).

%% The manager had a longer name in earlier versions.
-define(MANAGERS, [peer_service_manager, partisan_peer_service_manager]).
-define(PLUGGABLE, [
    partisan_pluggable_peer_service_manager, partisan_default_peer_service_manager
]).
%% Upstream's names, and our parameter.
-define(VIEW, [
    {active_max_size, active_max},
    {max_active_size, active_max},
    {active_min_size, active_min},
    {min_active_size, active_min},
    {passive_max_size, passive_max},
    {max_passive_size, passive_max},
    {active_rwl, active_random_walk_length},
    {arwl, active_random_walk_length},
    {passive_rwl, passive_random_walk_length},
    {prwl, passive_random_walk_length},
    {shuffle_interval, shuffle_interval},
    {passive_view_shuffle_period, shuffle_interval},
    {shuffle_k_active, shuffle_active},
    {shuffle_k_passive, shuffle_passive},
    {random_promotion_interval, promotion_interval},
    {random_promotion_period, promotion_interval},
    {xbot_interval, optimisation_interval},
    % Promotion cannot be switched off, and X-BOT is an overlay of its own.
    {random_promotion, none},
    {xbot_enabled, none}
]).

%% @doc The fields with the overlay as ours, if it is named.
-spec converted(map()) -> {WithoutEffect :: [string()], map()}.
converted(Given) ->
    Properties = properties(maps:get(hyparview, Given, [])),
    Flat = [{Key, map_get(Key, Given)} || {Key, _} <- ?VIEW, is_map_key(Key, Given)],
    {Named, Unused} = named(Given),
    Kind = kind(Named, proplists:get_value(xbot_enabled, Properties, false)),
    Used = used(Kind),
    IsUnused = fun({Key, _}) -> not lists:member(ours(Key), Used) end,
    WithoutEffect =
        Unused ++
            [atom_to_list(Key) || {Key, _} <- lists:filter(IsUnused, Flat)] ++
            [
                lists:concat([Key, " of hyparview"])
             || {Key, _} <- lists:filter(IsUnused, Properties), Key =/= xbot_enabled
            ],
    Keys = [hyparview, membership_strategy | ?MANAGERS] ++ [Key || {Key, _} <- Flat],
    Parameters = maps:with(Used, maps:from_list([{ours(K), V} || {K, V} <- Flat ++ Properties])),
    Fields = maps:without(Keys, Given),
    {WithoutEffect, with_overlay(Named, {Kind, Parameters}, Fields)}.

%% Internals.

properties(Given) ->
    case pairs(Given) of
        error ->
            invalid("hyparview is ~0p: give a map or a list of properties", [Given]);
        Properties ->
            _ = [
                invalid("hyparview: ~s is not one of its properties; remove it", [Key])
             || {Key, _} <- Properties, not lists:keymember(Key, 1, ?VIEW)
            ],
            Properties
    end.

ours(Key) ->
    {Key, Ours} = lists:keyfind(Key, 1, ?VIEW),
    Ours.

%% The key that decides, with its value, and a key without effect.
named(Given) ->
    Managers = [{Key, map_get(Key, Given)} || Key <- ?MANAGERS, is_map_key(Key, Given)],
    Strategies = [{membership_strategy, Name} || #{membership_strategy := Name} <- [Given]],
    case {Managers, Strategies} of
        {[], []} ->
            {none, []};
        {[], [Strategy]} ->
            {Strategy, []};
        {[{_, Name} = Manager | _], [Strategy]} ->
            case lists:member(Name, ?PLUGGABLE) of
                true -> {Strategy, []};
                false -> {Manager, ["membership_strategy"]}
            end;
        {[Manager | _], []} ->
            {Manager, []}
    end.

%% Our parameters that have upstream's names.
used(xbot) -> [Ours || {_, Ours} <- ?VIEW, Ours =/= none];
used(hyparview) -> used(xbot) -- [optimisation_interval];
used(_Kind) -> [].

with_overlay(none, _Overlay, Fields) ->
    Fields;
with_overlay({Key, _}, _Overlay, #{overlay := _}) ->
    invalid("~s and overlay are both set; remove one", [Key]);
with_overlay(_Named, Overlay, Fields) ->
    Fields#{overlay => Overlay}.

kind(none, _XBot) ->
    none;
kind({Key, Name}, XBot) ->
    case kind_of(Key, Name) of
        hyparview when XBot =:= true -> xbot;
        Kind -> Kind
    end.

kind_of(_Key, partisan_pluggable_peer_service_manager) -> full_mesh;
kind_of(_Key, partisan_default_peer_service_manager) -> full_mesh;
kind_of(_Key, partisan_full_membership_strategy) -> full_mesh;
kind_of(_Key, partisan_hyparview_peer_service_manager) -> hyparview;
kind_of(_Key, partisan_hyparview_xbot_peer_service_manager) -> xbot;
kind_of(_Key, partisan_scamp_v1_membership_strategy) -> scamp_v1;
kind_of(_Key, partisan_scamp_v2_membership_strategy) -> scamp_v2;
kind_of(Key, partisan_client_server_peer_service_manager) -> needs(Key, client_server, "servers");
kind_of(Key, partisan_static_peer_service_manager) -> needs(Key, static, "edges");
kind_of(Key, client_server) -> needs(Key, client_server, "servers");
kind_of(Key, publish_subscribe) -> needs(Key, publish_subscribe, "brokers");
kind_of(Key, static) -> needs(Key, static, "edges");
kind_of(Key, Name) ->
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
