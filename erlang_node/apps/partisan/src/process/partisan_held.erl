%%% @doc Monitors that processes of other nodes hold on processes of this one.
%%%
%%% Each is identified by the holding node, its incarnation and a number. A holder's message
%%% replaces what was known and is idempotent, so lost messages are repaired by sending all of it
%%% again ({@link partisan_remote}).
-module(partisan_held).

-compile({no_auto_import, [size/1]}).

-export([new/0]).
-export([add/5]).
-export([remove/4]).
-export([replace/4]).
-export([forget/2]).
-export([down/2]).
-export([digest/1]).
-export([digest/3]).
-export([is_holder/2]).
-export([size/1]).

-type name() :: partisan_peer:name().
-type incarnation() :: partisan_peer:incarnation().
-type id() :: pos_integer().
-export_type([id/0]).

%% Maximum number of monitors held here by all other nodes together.
-define(MAX_MONITORS, 100000).

-record(held, {
    holders = #{} :: #{name() => {incarnation(), #{id() => reference()}}},
    monitors = #{} :: #{reference() => {name(), id()}}
}).

-opaque t() :: #held{}.
-export_type([t/0]).

%% @doc No monitors.
-spec new() -> t().
new() ->
    #held{}.

%% @doc Adds a node's monitor of a process here. `full' if there are too many already.
-spec add(name(), incarnation(), id(), partisan_ref:destination(), t()) -> {ok, t()} | full.
add(Node, Incarnation, Id, Destination, Held0) ->
    #held{holders = Holders, monitors = Monitors} = Held = current(Node, Incarnation, Held0),
    case maps:get(Node, Holders, {Incarnation, #{}}) of
        {Incarnation, #{Id := _}} ->
            {ok, Held};
        {Incarnation, _} when map_size(Monitors) >= ?MAX_MONITORS ->
            full;
        {Incarnation, Ids} ->
            Monitor = monitor(process, process_of(Destination)),
            {ok, Held#held{
                holders = Holders#{Node => {Incarnation, Ids#{Id => Monitor}}},
                monitors = Monitors#{Monitor => {Node, Id}}
            }};
        {_Later, _} ->
            {ok, Held}
    end.

%% @doc Removes the node's monitor.
-spec remove(name(), incarnation(), id(), t()) -> t().
remove(Node, Incarnation, Id, #held{holders = Holders, monitors = Monitors} = Held) ->
    case Holders of
        #{Node := {Incarnation, #{Id := Monitor} = Ids}} ->
            true = demonitor(Monitor, [flush]),
            Held#held{
                holders = without(Node, Incarnation, Id, Ids, Holders),
                monitors = maps:remove(Monitor, Monitors)
            };
        #{} ->
            Held
    end.

%% @doc Replaces all monitors of a node. Returns those that found no room.
-spec replace(name(), incarnation(), #{id() => partisan_ref:destination()}, t()) -> {[id()], t()}.
replace(Node, Incarnation, Wanted, Held0) ->
    #held{holders = Holders} = Held1 = current(Node, Incarnation, Held0),
    {_, Present} = maps:get(Node, Holders, {Incarnation, #{}}),
    Stale = maps:keys(maps:without(maps:keys(Wanted), Present)),
    Held2 = lists:foldl(fun(Id, H) -> remove(Node, Incarnation, Id, H) end, Held1, Stale),
    maps:fold(
        fun(Id, Destination, {Refused, H0}) ->
            case add(Node, Incarnation, Id, Destination, H0) of
                {ok, H} -> {Refused, H};
                full -> {[Id | Refused], H0}
            end
        end,
        {[], Held2},
        Wanted
    ).

%% @doc Removes all monitors of a lost node.
-spec forget(name(), t()) -> t().
forget(Node, #held{holders = Holders, monitors = Monitors} = Held) ->
    case maps:take(Node, Holders) of
        {{_, Ids}, Others} ->
            lists:foreach(fun(M) -> true = demonitor(M, [flush]) end, maps:values(Ids)),
            Held#held{
                holders = Others, monitors = maps:without(maps:values(Ids), Monitors)
            };
        error ->
            Held
    end.

%% @doc A process has ended: returns the node to notify. `error' if the monitor is not one of
%% these.
-spec down(reference(), t()) -> {{name(), id()}, t()} | error.
down(Monitor, #held{holders = Holders, monitors = Monitors} = Held) ->
    case maps:take(Monitor, Monitors) of
        {{Node, Id} = Ended, Others} ->
            #{Node := {Incarnation, Ids}} = Holders,
            {Ended, Held#held{
                holders = without(Node, Incarnation, Id, Ids, Holders), monitors = Others
            }};
        error ->
            error
    end.

%% @doc A digest that is equal on both sides if they agree on the monitors.
-spec digest([id()]) -> non_neg_integer().
digest([]) -> 0;
digest(Ids) -> 1 + erlang:phash2(lists:sort(Ids)).

%% @doc The digest of the monitors that an incarnation of a node holds.
-spec digest(name(), incarnation(), t()) -> non_neg_integer().
digest(Node, Incarnation, #held{holders = Holders}) ->
    case Holders of
        #{Node := {Incarnation, Ids}} -> digest(maps:keys(Ids));
        #{} -> 0
    end.

%% @doc Whether that node holds monitors here.
-spec is_holder(name(), t()) -> boolean().
is_holder(Node, #held{holders = Holders}) ->
    is_map_key(Node, Holders).

%% @doc The number of monitors.
-spec size(t()) -> non_neg_integer().
size(#held{monitors = Monitors}) ->
    map_size(Monitors).

%% Internals.

%% A new incarnation holds none of the previous one's monitors.
current(Node, Incarnation, #held{holders = Holders} = Held) ->
    case Holders of
        #{Node := {Known, _}} when Known < Incarnation -> forget(Node, Held);
        #{} -> Held
    end.

without(Node, Incarnation, Id, Ids, Holders) ->
    case maps:remove(Id, Ids) of
        Others when map_size(Others) =:= 0 -> maps:remove(Node, Holders);
        Others -> Holders#{Node := {Incarnation, Others}}
    end.

%% If there is no such process, or it is not offered, the monitor fires at once with `noproc', as it
%% does for an unregistered name.
process_of(Destination) ->
    case partisan_reach:find(Destination) of
        {ok, Pid} -> Pid;
        {error, _} -> '$partisan_no_process'
    end.
