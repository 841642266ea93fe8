%%% @doc The network of a simulation: latencies, partitions and pinned links.
%%%
%%% A link has a fixed latency per ordered pair of nodes, so messages of a pair stay in order as in
%%% TCP. Pins are links requested by `connect'; they are kept for both ends, since a node that
%%% pinned a link must learn of its loss.
%%%
%%% A value; {@link simulator} has the nodes and the time.
-module(simulator_network).

-export([new/1]).
-export([set/2]).
-export([latency/3]).
-export([position/2]).
-export([vanishes/2]).
-export([cut/2]).
-export([heal/1]).
-export([is_cut/1]).
-export([same_side/3]).
-export([pinned/1]).
-export([pin/4]).
-export([unpin/3]).
-export([is_pinned/3]).
-export([remove/2]).

-type index() :: pos_integer().
-type latency() :: {pos_integer(), pos_integer()} | {plane, pos_integer(), pos_integer()}.
-type options() :: #{seed := integer(), latency := latency(), loss := float(), _ => _}.

-export_type([latency/0, options/0]).

-record(network, {
    options :: options(),
    side = none :: none | fun((index()) -> term()),
    % Pinned links by node and peer, with the incarnation they were pinned to; and the reverse.
    pins = #{} :: #{index() => #{index() => partisan_peer:incarnation()}},
    pinned_by = #{} :: #{index() => #{index() => true}}
}).

-opaque t() :: #network{}.
-export_type([t/0]).

%% @doc A network without links.
-spec new(options()) -> t().
new(Options) ->
    #network{options = Options}.

%% @doc Changes the options.
-spec set(options(), t()) -> t().
set(Options, N) ->
    N#network{options = Options}.

%% @doc Milliseconds from one node to another: random within the range or, on a plane, growing over
%% it with their distance.
-spec latency(index(), index(), t()) -> pos_integer().
latency(From, To, #network{options = #{latency := Latency, seed := Seed}}) ->
    case Latency of
        {plane, Least, Most} ->
            Least + round((Most - Least) * distance(position(From, Seed), position(To, Seed)));
        {Least, Most} ->
            Least + erlang:phash2({Seed, From, To}, Most - Least + 1)
    end.

%% @doc Whether the message of this number is lost. The draw is that of rules
%% ({@link simulator_faults}), from the number alone: a rule would also count each pair's messages,
%% and published results depend on these draws.
-spec vanishes(non_neg_integer(), t()) -> boolean().
vanishes(_Number, #network{options = #{loss := Loss}}) when Loss =< 0 ->
    false;
vanishes(Number, #network{options = #{loss := Loss, seed := Seed}}) ->
    partisan_fault:is_drawn(Loss, {Seed, vanishes, Number}).

%% @doc Partitions the network: nodes with different results of the function cannot reach each other
%% from now on. Returns the links broken by this.
-spec cut(fun((index()) -> term()), t()) -> {[{From :: index(), To :: index()}], t()}.
cut(Side, N) ->
    Broken = [{From, To} || {From, To} <- pinned(N), Side(To) =/= Side(From)],
    {Broken, N#network{side = Side}}.

%% @doc Ends the cut.
-spec heal(t()) -> t().
heal(N) ->
    N#network{side = none}.

%% @doc Whether the network is cut.
-spec is_cut(t()) -> boolean().
is_cut(#network{side = Side}) ->
    Side =/= none.

%% @doc Whether no partition separates these two.
-spec same_side(index(), index(), t()) -> boolean().
same_side(_From, _To, #network{side = none}) ->
    true;
same_side(From, To, #network{side = Side}) ->
    Side(From) =:= Side(To).

%% @doc All pinned links.
-spec pinned(t()) -> [{From :: index(), To :: index()}].
pinned(#network{pins = Pins}) ->
    [{From, To} || {From, Tos} <- maps:to_list(Pins), To <- maps:keys(Tos)].

%% @doc Pins a link to this incarnation of a node, unless pinned.
-spec pin(From :: index(), To :: index(), partisan_peer:incarnation(), t()) ->
    {pinned, t()} | known.
pin(From, To, Incarnation, #network{pins = Pins, pinned_by = PinnedBy} = N) ->
    case Pins of
        #{From := #{To := Incarnation}} ->
            known;
        #{} ->
            Tos = maps:get(From, Pins, #{}),
            By = maps:get(To, PinnedBy, #{}),
            {pinned, N#network{
                pins = Pins#{From => Tos#{To => Incarnation}},
                pinned_by = PinnedBy#{To => By#{From => true}}
            }}
    end.

%% @doc Releases a link.
-spec unpin(From :: index(), To :: index(), t()) -> t().
unpin(From, To, #network{pins = Pins, pinned_by = PinnedBy} = N) ->
    N#network{pins = without(From, To, Pins), pinned_by = without(To, From, PinnedBy)}.

%% @doc Whether a node has pinned a link to another.
-spec is_pinned(From :: index(), To :: index(), t()) -> boolean().
is_pinned(From, To, #network{pins = Pins}) ->
    case Pins of
        #{From := #{To := _}} -> true;
        #{} -> false
    end.

%% @doc Removes a node and its own pinned links. Returns the nodes with a pinned link to it, which
%% stays until they have noticed.
-spec remove(index(), t()) -> {[index()], t()}.
remove(Index, #network{pins = Pins, pinned_by = PinnedBy} = N) ->
    Tos = maps:keys(maps:get(Index, Pins, #{})),
    By = lists:foldl(fun(To, Acc) -> without(To, Index, Acc) end, PinnedBy, Tos),
    Losing = maps:keys(maps:get(Index, By, #{})),
    {Losing, N#network{pins = maps:remove(Index, Pins), pinned_by = maps:remove(Index, By)}}.

%% Internals.

%% A map of maps without empty ones.
without(Outer, Inner, Maps) ->
    case Maps of
        #{Outer := #{Inner := _} = Map} when map_size(Map) =:= 1 -> maps:remove(Outer, Maps);
        #{Outer := Map} -> Maps#{Outer := maps:remove(Inner, Map)};
        #{} -> Maps
    end.

%% Distance of two points of the square, between 0 and 1.
distance({X1, Y1}, {X2, Y2}) ->
    math:sqrt(((X1 - X2) * (X1 - X2) + (Y1 - Y2) * (Y1 - Y2)) / 2).

%% @doc The place of a node on the plane that latencies may follow, each coordinate from 0 to 1.
-spec position(index(), Seed :: integer()) -> {X :: float(), Y :: float()}.
position(Index, Seed) ->
    Along = fun(Axis) -> erlang:phash2({Seed, Axis, Index}, 1 bsl 16) / (1 bsl 16) end,
    {Along(x), Along(y)}.
