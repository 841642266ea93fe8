%%% @doc Unexpected messages do not end the long-lived processes of a node.
-module(node_stray_tests).

-include_lib("eunit/include/eunit.hrl").

-export([servers/0]).

stray_test_() ->
    {setup, fun partisan_metrics:init/0, fun(_) ->
        [
            {atom_to_list(Module), fun() -> survives(Module) end}
         || Module <- [lasp_store, adcounter | servers()]
        ]
    end}.

servers() ->
    _ = application:load(node),
    {ok, Modules} = application:get_key(node, modules),
    [Module || Module <- Modules, is_server(Module:module_info(attributes))].

is_server(Attributes) ->
    lists:member({behaviour, [gen_server]}, Attributes).

%% The callbacks alone: none of them reads the state for an unexpected message.
survives(Module) ->
    From = {self(), make_ref()},
    ?assertEqual({reply, {error, unknown_request}, state}, Module:handle_call(stray, From, state)),
    ?assertEqual({noreply, state}, Module:handle_cast(stray, state)),
    ?assertEqual({noreply, state}, Module:handle_info({make_ref(), late_answer}, state)).
