%%% @doc This runtime in the benchmark: metrics on, queues bounded, as in a release.
-module(bench_ours).
-behaviour(bench_system).

-export([start/2]).
-export([connect/0]).
-export([send/4]).
%% For groups with a partial view.
-export([set_peer/1]).
-export([distant/0]).
-export([is_distant/0]).

-define(FIRST, a).
-define(SERVER, <<"a">>).
-define(TIMEOUT_MS, 30000).
-define(LOOK_MS, 5).

%% @private
-spec start(bench_system:address(), [bench_system:address(), ...]) -> ok.
start(#{name := Self, ip := Ip, port := Port} = Address, [#{name := Peer} | _] = Others) ->
    ok = set_peer(Peer),
    Overlay = bench_system:overlay(),
    Seeds = [
        partisan_peer:new(atom_to_binary(Name), OtherIp, OtherPort)
     || #{name := Name, ip := OtherIp, port := OtherPort} <- seeds(Overlay, Address, Others)
    ],
    ok = persistent_term:put(?MODULE, [atom_to_binary(Name) || #{name := Name} <- Others]),
    ok = partisan_config:set(#{
        name => atom_to_binary(Self),
        cluster => <<"bench">>,
        token => binary:copy(<<"bench">>, 8),
        host => Ip,
        listen_ip => Ip,
        listen_port => Port,
        replicas => length(Others) + 1,
        overlay => {Overlay, options(Overlay)},
        channels => [
            #{name => Name, parallelism => Lanes}
         || {Name, Lanes} <- bench_system:channels()
        ],
        seeds => Seeds
    }),
    {ok, _} = application:ensure_all_started(partisan),
    ok.

%% The first node is the seed of all, so of itself, and the server.
seeds(full_mesh, _Address, Others) -> Others;
seeds(_Partial, Address, Others) -> [Seed || #{name := ?FIRST} = Seed <- [Address | Others]].

options(client_server) -> #{servers => [?SERVER]};
%% By default a node would have six of seven others as neighbours.
options(hyparview) -> #{active_max => 4};
options(_) -> #{}.

%% @doc Sets the peer of `send/4'.
-spec set_peer(atom()) -> ok.
set_peer(Name) ->
    bench_system:set_peer(atom_to_binary(Name)).

%% @doc The others that are no neighbours.
-spec distant() -> [atom()].
distant() ->
    [binary_to_atom(Name) || Name <- persistent_term:get(?MODULE) -- partisan:neighbours()].

%% @doc Whether the peer is none.
-spec is_distant() -> boolean().
is_distant() ->
    not lists:member(bench_system:peer(), partisan:neighbours()).

%% @private
-spec connect() -> ok.
connect() ->
    connect(erlang:monotonic_time(millisecond) + ?TIMEOUT_MS).

connect(Deadline) ->
    case is_connected(bench_system:overlay()) of
        true ->
            ok;
        false ->
            erlang:monotonic_time(millisecond) < Deadline orelse error(not_connected),
            timer:sleep(?LOOK_MS),
            connect(Deadline)
    end.

is_connected(full_mesh) -> distant() =:= [];
is_connected(Partial) -> is_connected(Partial, partisan:node()).

%% A client that the server does not know yet is no pair of the server.
is_connected(client_server, ?SERVER) -> distant() =:= [];
is_connected(_Partial, _Name) -> partisan:joined() andalso partisan:neighbours() =/= [].

%% @private
-spec send(bench_system:channel(), integer(), atom(), bench_system:message()) -> ok.
send(Channel, Key, Receiver, Message) ->
    ok = partisan:forward(bench_system:peer(), Receiver, Message, #{
        channel => Channel, partition_key => Key
    }).
