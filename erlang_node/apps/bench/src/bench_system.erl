%%% @doc The behaviour of a messaging system under comparison, between two or more virtual machines,
%%% of which two are measured.
%%%
%%% All carry the same message to the same registered process, `{bench, Seq, SentAt, Payload}', so
%%% that senders and receivers are the same code ({@link bench_traffic}).
-module(bench_system).

-export([channels/0]).
-export([overlay/0]).
-export([configure/2]).
-export([receivers/0]).
-export([receiver/1]).
-export([sender/1]).
-export([set_peer/1]).
-export([peer/0]).
-export([now/0]).

-define(PAIRS, 128).

-type address() :: #{name := atom(), ip := inet:ip4_address(), port := inet:port_number()}.
%% For example lanes_16.
-type channel() :: atom().
-type overlay() :: full_mesh | hyparview | client_server.
%% When it was sent, by the machine's clock, see `now/0'.
-type message() ::
    {bench, Seq :: pos_integer(), SentAt :: integer(), Payload :: binary()}.
-export_type([address/0, channel/0, overlay/0, message/0]).

%% Prepares this virtual machine for connections from the others. The first of them is the peer of
%% `send/4'.
-callback start(Self :: address(), Others :: [address(), ...]) -> ok.
%% Connects to the others, which are ready.
-callback connect() -> ok.
%% Sends to a registered process of the peer; blocks while the path is full. Messages of one
%% key stay in order.
-callback send(channel(), Key :: integer(), Receiver :: atom(), message()) -> ok.

%% @doc The channels and their numbers of connections, if the system has channels.
-spec channels() -> [{channel(), Lanes :: pos_integer()}].
channels() ->
    persistent_term:get({?MODULE, channels}, [{lanes_1, 1}, {lanes_16, 16}, {bulk, 1}, {ping, 1}]).

%% @doc The overlay of a system that has one.
-spec overlay() -> overlay().
overlay() ->
    persistent_term:get({?MODULE, overlay}, full_mesh).

%% @doc Sets channels and overlay, before `start/2'.
-spec configure([{channel(), Lanes :: pos_integer()}], overlay()) -> ok.
configure(Channels, Overlay) ->
    ok = persistent_term:put({?MODULE, channels}, Channels),
    persistent_term:put({?MODULE, overlay}, Overlay).

%% @doc The registered names of receivers, those of acknowledgements included.
-spec receivers() -> [atom()].
receivers() ->
    Pairs = lists:seq(1, ?PAIRS),
    [receiver(Pair) || Pair <- Pairs] ++ [sender(Pair) || Pair <- Pairs] ++
        [bench_echo, bench_ping].

%% @doc The receiver of the pair with this number, from 1 to 128.
-spec receiver(pos_integer()) -> atom().
receiver(Pair) when Pair =< ?PAIRS ->
    list_to_atom("bench_receiver_" ++ integer_to_list(Pair)).

%% @doc The sender of the pair with this number, where it receives acknowledgements.
-spec sender(pos_integer()) -> atom().
sender(Pair) when Pair =< ?PAIRS ->
    list_to_atom("bench_sender_" ++ integer_to_list(Pair)).

%% @doc Stores what `send/4' needs to reach the other virtual machine.
-spec set_peer(term()) -> ok.
set_peer(Peer) ->
    persistent_term:put({?MODULE, peer}, Peer).

%% @doc The argument of `set_peer/1'.
-spec peer() -> term().
peer() ->
    persistent_term:get({?MODULE, peer}).

%% @doc Nanoseconds of a clock shared by all processes of this machine.
-spec now() -> integer().
now() ->
    os:perf_counter(nanosecond).
