%%% Channels as on a configured node, without its processes.
-module(partisan_test_channels).

-export([setup/1, cleanup/1]).

setup(Channels) ->
    ok = partisan_metrics:init(),
    ok = partisan_config:set(#{
        name => <<"a">>,
        cluster => <<"c">>,
        token => <<"0123456789abcdef">>,
        host => {127, 0, 0, 1},
        overlay => {full_mesh, #{}},
        seeds => [],
        channels => Channels
    }),
    partisan_channel:setup().

cleanup(_) ->
    ets:delete(partisan_metrics).
