%%% Each overlay, with four nodes: where it can be so, the first and the others are no neighbours.
-module(comparison_overlays).

-export([kinds/0, parameters/2]).

kinds() ->
    partisan_overlay_registry:known().

parameters(client_server, [_A, _B, C, _Victim]) ->
    #{servers => [maps:get(name, C)]};
parameters(publish_subscribe, [_A, _B, C, _Victim]) ->
    #{brokers => [maps:get(name, C)]};
parameters(static, [_A, _B, C, _Victim] = Peers) ->
    [NameA, NameB, NameC, NameVictim] = [Name || #{name := Name} <- Peers],
    #{edges => [{NameA, NameC}, {NameB, NameC}, {NameC, NameVictim}], peers => [C | Peers -- [C]]};
parameters(hiscamp, _Peers) ->
    #{level => <<"zone-a">>};
parameters(_Kind, _Peers) ->
    #{}.
