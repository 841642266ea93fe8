%%% @doc The processes of one ring on this node. They restart together, as another start of the
%%% ring: the state of each is worthless without that of the others.
-module(ring_sup).
-behaviour(supervisor).

-export([start_link/2]).
-export([start_seat/3]).
-export([init/1]).

%% @doc Starts a ring; its name is that of a process and of a table.
-spec start_link(ring_table:ring(), ring_table:options()) -> supervisor:startlink_ret().
start_link(Ring, Options) ->
    supervisor:start_link({local, name("ring_sup_", Ring)}, ?MODULE, {ring, Ring, Options}).

%% @private Starts the process of a seat.
-spec start_seat(ring_table:ring(), ring_state:index(), ring_view:t()) ->
    supervisor:startchild_ret().
start_seat(Ring, Index, View) ->
    supervisor:start_child(name("ring_seats_", Ring), [Ring, Index, View]).

%% @private
-spec init({ring, ring_table:ring(), ring_table:options()} | seats) ->
    {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init({ring, Ring, Options}) ->
    Seats = [{local, name("ring_seats_", Ring)}, ?MODULE, seats],
    {ok,
        {#{strategy => one_for_all, intensity => 3, period => 60}, [
            #{id => table, start => {ring_table, start_link, [Ring, Options]}},
            #{id => seats, type => supervisor, start => {supervisor, start_link, Seats}},
            #{id => hints, start => {ring_hint_server, start_link, [Ring]}},
            #{id => manager, start => {ring_manager, start_link, [Ring]}},
            #{id => inlet, start => {ring_inlet, start_link, [Ring]}}
        ]}};
init(seats) ->
    % The manager starts another seat in the place of one that has failed.
    {ok,
        {#{strategy => simple_one_for_one}, [
            #{id => seat, restart => temporary, start => {ring_seat_server, start_link, []}}
        ]}}.

%% Internals.

name(Prefix, Ring) ->
    list_to_atom(Prefix ++ atom_to_list(Ring)).
