%%% @doc This runtime in the benchmark: metrics on, queues bounded, as in a release.
-module(bench_ours).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).

-define(TIMEOUT_MS, 30000).
-define(LOOK_MS, 5).

%% @private
-spec start(bench_system:address(), bench_system:address()) -> ok.
start(#{name := Self, ip := Ip, port := Port}, #{name := Peer, ip := PeerIp, port := PeerPort}) ->
    ok = bench_system:set_peer(atom_to_binary(Peer)),
    ok = partisan_config:set(#{
        name => atom_to_binary(Self),
        cluster => <<"bench">>,
        token => binary:copy(<<"bench">>, 8),
        host => Ip,
        listen_ip => Ip,
        listen_port => Port,
        overlay => {full_mesh, #{}},
        channels => [
            #{name => Name, parallelism => Lanes}
         || {Name, Lanes} <- bench_system:channels()
        ],
        seeds => [partisan_peer:new(atom_to_binary(Peer), PeerIp, PeerPort)]
    }),
    {ok, _} = application:ensure_all_started(partisan),
    ok.

%% @private
-spec connect() -> ok.
connect() ->
    connect(erlang:monotonic_time(millisecond) + ?TIMEOUT_MS).

connect(Deadline) ->
    case partisan:neighbours() =:= [bench_system:peer()] of
        true ->
            ok;
        false ->
            erlang:monotonic_time(millisecond) < Deadline orelse error(not_connected),
            timer:sleep(?LOOK_MS),
            connect(Deadline)
    end.

%% @private
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(Channel, Key, Receiver, Message) ->
    ok = partisan:forward(bench_system:peer(), Receiver, Message, #{
        channel => Channel, partition_key => Key
    }).
