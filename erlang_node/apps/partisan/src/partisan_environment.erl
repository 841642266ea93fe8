%%% @doc The configuration in the application's environment, as in `sys.config', for a node that no
%%% other application configures.
%%%
%%% ```
%%% [{partisan, [
%%%     {name, <<"ads-0">>}, {cluster, <<"ads">>}, {token, <<"at least sixteen bytes">>},
%%%     {host, "10.0.0.1"}, {overlay, {hyparview, #{}}}, {seeds, [{<<"ads-1">>, "10.0.0.2", 7946}]}
%%% ]}].
%%% '''
%%%
%%% The keys are the fields of {@link partisan_config}; a seed may be written as
%%% `{Name, Host, Port}', and the keys of upstream Partisan are understood as well ({@link
%%% partisan_upstream_keys}); a notice lists those without effect. An environment with a `name' is
%%% read at each start. Without one {@link partisan_config:set/1} must have been called before.
-module(partisan_environment).

-export([load/0]).

%% @doc Reads and stores the configuration if the environment has it.
-spec load() -> ok | {error, Description :: string()}.
load() ->
    Given = maps:from_list(application:get_all_env(partisan)),
    case {Given, partisan_config:is_set()} of
        {#{name := _}, _} -> set(partisan_upstream_keys:converted(Given));
        {#{}, true} -> ok;
        {#{}, false} -> {error, "no configuration: call partisan_config:set/1, or set `name' and "
            "the other fields in the environment of partisan"}
    end.

%% Internals.

set({ok, Given, WithoutEffect}) ->
    ok = report(WithoutEffect),
    partisan_config:set(fields(Given));
set({error, _} = Error) ->
    Error.

report([]) ->
    ok;
report(WithoutEffect) ->
    logger:notice("partisan: keys of the configuration without effect here: ~ts", [
        lists:join(", ", WithoutEffect)
    ]).

%% `settings' are for a node that reads its configuration elsewhere.
fields(Given) ->
    Fields = maps:without([settings, included_applications], Given),
    case Fields of
        #{seeds := Seeds} when is_list(Seeds) -> Fields#{seeds := [peer(Seed) || Seed <- Seeds]};
        #{} -> Fields
    end.

peer({Name, Host, Port}) -> partisan_peer:new(Name, Host, Port);
peer(Peer) -> Peer.
