%%% @doc The state of the ring: the plan, and who holds what.
%%%
%%% ```
%%% plan      {7, #{partitions => 768, replication => 3, members => [<<"kv-0">>, ...]}}
%%% holders   0 -> {{7, 1795224000123456}, <<"kv-0">>}      of each index
%%% '''
%%%
%%% The plan names the members in the order in which they joined, and so every partition's owner
%%% ({@link ring_claim}). Its epoch orders plans: exactly one authority writes them, each with a
%%% larger epoch. Of two plans of one epoch, which a second authority would cause, all nodes keep
%%% the same one.
%%%
%%% The holder of an index is the node that serves it. It differs from the owner until the data have
%%% moved. A holder is known with its *incarnation*, `{Epoch, Start}': it began under that epoch, of
%%% which the owner is one node, and `Start' is larger for each later start on this node. So
%%% incarnations of an index are ordered, and the greatest is the present one.
%%%
%%% The state is a {@link lasp_lattice}: nodes may learn it in any order, any number of times.
-module(ring_state).
-behaviour(lasp_lattice).

%% Deltas.
-export([plan/2]).
-export([held/3]).
%% Queries.
-export([epoch/1]).
-export([version/1]).
-export([current/1]).
-export([holder/2]).
-export([holders/1]).
-export([part/3]).
-export([check/1]).
%% lasp_lattice.
-export([new/0]).
-export([merge/2]).
-export([difference/2]).
-export([to_parts/1]).
-export([size/1]).
-export([key/1]).
-export([path/1]).
-export([leaf/2]).
-export([join/3]).

-type index() :: non_neg_integer().
%% Zero before the first plan.
-type epoch() :: non_neg_integer().
-type incarnation() :: {epoch(), Start :: non_neg_integer()}.
-type member() :: partisan_peer:name().
-type plan() :: #{
    partitions := pos_integer(), replication := pos_integer(), members := [member()]
}.
-type holder() :: {incarnation(), member()}.

-record(ring, {
    % The epoch, and the encoded plan.
    plan = {0, <<>>} :: {epoch(), binary()},
    holders = #{} :: #{index() => holder()}
}).

-opaque t() :: #ring{}.
-type key() :: {plan, binary()} | {holder, index(), member()}.

-export_type([t/0, index/0, epoch/0, incarnation/0, member/0, plan/0, holder/0]).

%% In a path, before the encoded plan.
-define(PLAN, <<"plan">>).
%% Of a plan from another node: beyond these the ring would take too long to compute.
-define(MAX_PARTITIONS, 65536).
-define(MAX_MEMBERS, 4096).
%% It is one byte of a plan.
-define(MAX_REPLICATION, 255).

%% Deltas.

%% @doc The plan of an epoch, which must pass `check/1'.
-spec plan(epoch(), plan()) -> t().
plan(Epoch, Plan) when Epoch > 0 ->
    ok = check(Plan),
    #ring{plan = {Epoch, encode(Plan)}}.

%% @doc An incarnation on a node holds the index.
-spec held(index(), incarnation(), member()) -> t().
held(Index, Incarnation, Node) ->
    #ring{holders = #{Index => {Incarnation, Node}}}.

%% Queries.

%% @doc The epoch of the plan.
-spec epoch(t()) -> epoch().
epoch(#ring{plan = {Epoch, _}}) ->
    Epoch.

%% @doc The epoch, and the plan as a value that can only be compared: `current/1' takes longer.
-spec version(t()) -> {epoch(), term()}.
version(#ring{plan = Version}) ->
    Version.

%% @doc The plan.
-spec current(t()) -> {ok, plan()} | none.
current(#ring{plan = {0, _}}) ->
    none;
current(#ring{plan = {_, Bytes}}) ->
    decode(Bytes).

%% @doc The holder of an index, if it ever had one.
-spec holder(index(), t()) -> {ok, holder()} | none.
holder(Index, #ring{holders = Holders}) ->
    case Holders of
        #{Index := Holder} -> {ok, Holder};
        #{} -> none
    end.

%% @doc The holders by index.
-spec holders(t()) -> #{index() => holder()}.
holders(#ring{holders = Holders}) ->
    Holders.

%% @doc The part with, or without, the plan, and with the holders of some indexes.
-spec part(WithPlan :: boolean(), IsWanted :: fun((index()) -> boolean()), t()) -> t().
part(WithPlan, IsWanted, #ring{plan = Plan, holders = Holders}) ->
    Part = #ring{holders = maps:filter(fun(Index, _) -> IsWanted(Index) end, Holders)},
    case WithPlan of
        true -> Part#ring{plan = Plan};
        false -> Part
    end.

%% @doc Whether a plan is possible, whatever its fields are; the error names the field.
-spec check(plan()) -> ok | {error, Description :: string()}.
check(#{partitions := Partitions}) when not is_integer(Partitions) ->
    {error, describe("partitions: ~0tp is not an integer", [Partitions])};
check(#{replication := Replication}) when not is_integer(Replication) ->
    {error, describe("replication: ~0tp is not an integer", [Replication])};
check(#{members := Members} = Plan) when length(Members) >= 0 ->
    checked_sizes(Plan);
check(#{members := Members}) ->
    {error, describe("members: ~0tP is not a list of names", [Members, 20])}.

%% lasp_lattice.

%% @doc No plan, and no holders.
-spec new() -> t().
new() ->
    #ring{}.

%% @doc The newest plan, and the newest holder of each index.
-spec merge(t(), t()) -> t().
merge(#ring{plan = PlanA, holders = A}, #ring{plan = PlanB, holders = B}) ->
    #ring{
        plan = max(PlanA, PlanB),
        holders = maps:merge_with(fun(_, HolderA, HolderB) -> max(HolderA, HolderB) end, A, B)
    }.

%% @doc The newer part of a state.
-spec difference(t(), Known :: t()) -> t().
difference(#ring{plan = Plan, holders = Holders}, #ring{plan = Before, holders = Known}) ->
    #ring{
        plan =
            case Plan > Before of
                true -> Plan;
                false -> (new())#ring.plan
            end,
        holders = maps:filter(
            fun(Index, Holder) ->
                not is_map_key(Index, Known) orelse Holder > map_get(Index, Known)
            end,
            Holders
        )
    }.

%% @private
-spec to_parts(t()) -> [lasp_parts:part()].
to_parts(#ring{plan = {Epoch, Bytes}, holders = Holders}) ->
    [
        {[Index, Node], [InEpoch, Start]}
     || {Index, {{InEpoch, Start}, Node}} <- lists:sort(maps:to_list(Holders))
    ] ++ [{[?PLAN, Bytes], [Epoch]} || Epoch > 0].

%% @private
-spec size(t()) -> non_neg_integer().
size(#ring{plan = {Epoch, _}, holders = Holders}) ->
    map_size(Holders) + min(Epoch, 1).

%% @private
-spec key(lasp_parts:path()) -> {ok, key()} | error.
key([?PLAN, Bytes]) when is_binary(Bytes) ->
    case decode(Bytes) of
        {ok, _} -> {ok, {plan, Bytes}};
        error -> error
    end;
key([Index, Node]) when is_integer(Index), Index >= 0, is_binary(Node) ->
    {ok, {holder, Index, Node}};
key(_) ->
    error.

%% @private
-spec path(key()) -> lasp_parts:path().
path({plan, Bytes}) -> [?PLAN, Bytes];
path({holder, Index, Node}) -> [Index, Node].

%% @private
-spec leaf(key(), t()) -> lasp_parts:leaf() | none.
leaf({plan, Bytes}, #ring{plan = {Epoch, Bytes}}) when Epoch > 0 ->
    [Epoch];
leaf({holder, Index, Node}, #ring{holders = Holders}) ->
    case Holders of
        #{Index := {{Epoch, Start}, Node}} -> [Epoch, Start];
        #{} -> none
    end;
leaf(_, _) ->
    none.

%% @private
-spec join(key(), lasp_parts:leaf(), t()) -> known | {grown, t()} | malformed.
join({plan, Bytes}, [Epoch], Ring) when Epoch > 0 ->
    grown(Ring, merge(#ring{plan = {Epoch, Bytes}}, Ring));
join({holder, Index, Node}, [Epoch, Start], Ring) when Epoch >= 0, Start >= 0 ->
    grown(Ring, merge(held(Index, {Epoch, Start}, Node), Ring));
join(_, _, _) ->
    malformed.

%% Internals.

checked_sizes(#{partitions := Partitions, replication := Replication, members := Members}) ->
    Count = length(Members),
    Unnamed = [Name || Name <- Members, not is_name(Name)],
    Twice = Members -- lists:usort(Members),
    if
        Partitions > ?MAX_PARTITIONS ->
            {error, describe("partitions: ~b is more than ~b", [Partitions, ?MAX_PARTITIONS])};
        Replication > ?MAX_REPLICATION ->
            {error, describe("replication: ~b is more than ~b", [Replication, ?MAX_REPLICATION])};
        Count > ?MAX_MEMBERS ->
            {error, describe("members: ~b are more than ~b", [Count, ?MAX_MEMBERS])};
        Unnamed =/= [] ->
            Text = "members: ~0tP is no name, a binary of 1 to 255 bytes",
            {error, describe(Text, [hd(Unnamed), 20])};
        Twice =/= [] ->
            {error, describe("members: ~ts occurs twice", [hd(Twice)])};
        true ->
            ring_claim:check(Partitions, Replication, Count)
    end.

%% As for the nodes of the runtime.
is_name(Name) ->
    is_binary(Name) andalso byte_size(Name) >= 1 andalso byte_size(Name) =< 255.

grown(Ring, Ring) -> known;
grown(_, Grown) -> {grown, Grown}.

encode(#{partitions := Partitions, replication := Replication, members := Members}) ->
    Names = << <<(byte_size(Name)), Name/binary>> || Name <- Members >>,
    <<Partitions:32, Replication, Names/binary>>.

decode(<<Partitions:32, Replication, Names/binary>>) ->
    Members = [Name || <<Size, Name:Size/binary>> <= Names],
    Plan = #{partitions => Partitions, replication => Replication, members => Members},
    % Other bytes may decode to a plan too.
    case encode(Plan) of
        <<_:40, Names/binary>> -> checked(Plan);
        _ -> error
    end;
decode(_) ->
    error.

checked(Plan) ->
    case check(Plan) of
        ok -> {ok, Plan};
        {error, _} -> error
    end.

describe(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
