%%% @doc The smallest service on a ring: it answers what it is sent, and has no data.
-module(ring_echo).
-behaviour(ring_vnode).

%% API.
-export([start/1]).
-export([echo/2]).
-export([echo/3]).
%% ring_vnode.
-export([init/1]).
-export([handle_command/3]).
-export([fold/3]).
-export([merge/2]).

-define(RING, echo).

%% @doc Starts the ring `echo', with options of {@link ring:start/2}.
-spec start(map()) -> ok | {error, term()}.
start(Options) ->
    ring:start(?RING, Options#{service => ?MODULE}).

%% @equiv echo(Key, Payload, #{})
-spec echo(Key :: binary(), Payload :: term()) -> ring_call:result().
echo(Key, Payload) ->
    echo(Key, Payload, #{}).

%% @doc Sends a payload to the index of a key, and returns the answer.
-spec echo(Key :: binary(), Payload :: term(), ring_call:options()) -> ring_call:result().
echo(Key, Payload, Options) ->
    ring:call(?RING, Key, {echo, Payload}, Options).

%% ring_vnode.

%% @private
-spec init(ring_vnode:options()) -> none.
init(_Options) ->
    none.

%% @private
-spec handle_command({echo, Payload}, ring_vnode:info(), none) -> {reply, Payload, [], none}.
handle_command({echo, Payload}, _Info, none) ->
    {reply, Payload, [], none}.

%% @private
-spec fold(fun(), Acc, none) -> Acc.
fold(_Fun, Acc, none) ->
    Acc.

%% @private
-spec merge([], none) -> none.
merge([], none) ->
    none.
