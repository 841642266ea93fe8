%%% @doc The latest broadcasts of a node, from which {@link partisan_plumtree} answers grafts: a
%%% store bounded by their number.
-module(partisan_kept).

-export([new/0]).
-export([add/4]).
-export([find/2]).
-export([digest/1]).
-export([others/2]).

-type id() :: partisan_plumtree:id().
-type entry() :: {Round :: non_neg_integer(), Content :: term()}.

-record(kept, {
    entries = #{} :: #{id() => entry()},
    % The earliest first.
    order = queue:new() :: queue:queue(id())
}).

-opaque t() :: #kept{}.
-export_type([t/0]).

%% @doc Nothing kept.
-spec new() -> t().
new() ->
    #kept{}.

%% @doc Keeps a broadcast that is not kept yet; beyond this number, the earliest is dropped.
-spec add(id(), entry(), Limit :: pos_integer(), t()) -> t().
add(Id, Entry, Limit, #kept{entries = Entries0, order = Order0} = Kept) ->
    Entries = Entries0#{Id => Entry},
    Order = queue:in(Id, Order0),
    case map_size(Entries) > Limit of
        true ->
            {{value, Earliest}, Rest} = queue:out(Order),
            Kept#kept{entries = maps:remove(Earliest, Entries), order = Rest};
        false ->
            Kept#kept{entries = Entries, order = Order}
    end.

%% @doc The entry of a broadcast.
-spec find(id() | none, t()) -> {ok, entry()} | error.
find(Id, #kept{entries = Entries}) ->
    maps:find(Id, Entries).

%% @doc A hash of the identifiers.
-spec digest(t()) -> non_neg_integer().
digest(#kept{entries = Entries}) ->
    erlang:phash2(lists:sort(maps:keys(Entries)), 1 bsl 32).

%% @doc Identifiers and rounds of all but these.
-spec others([id()], t()) -> [{id(), Round :: non_neg_integer()}].
others(Except, #kept{entries = Entries}) ->
    [{Id, Round} || {Id, {Round, _}} <- maps:to_list(maps:without(Except, Entries))].
