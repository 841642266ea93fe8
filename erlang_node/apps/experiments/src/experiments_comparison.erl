%%% @doc Comparison of all overlays: shape, view sizes, reach of broadcasts after failures, and time
%%% to heal.
%%%
%%% Each function measures a trial and reports the cells of {@link experiments_papers}.
-module(experiments_comparison).

-export([shape/3]).
-export([view_size/3]).
-export([reliability/4]).
-export([healing/4]).
-export([fail/3]).
-export([shares/1]).

-import(experiments_cells, [emit/5, say/3, mean/1]).

-type options() :: experiments_papers:options().

%% Origins over which the reach on a quiet overlay is averaged.
-define(ORIGINS, 50).
%% Percent of the living nodes that may be missing when broadcasts count as healed: a handful of
%% nodes that only know one another stay apart without beacons, which are left out here.
-define(HEALED_WITHIN, 0.2).
-define(HEALING_ORIGINS, 25).

%% @doc Clustering, path length, degrees and components of an overlay, and the hops of broadcasts.
-spec shape(atom(), experiments_trial:t(), options()) -> ok.
shape(Overlay, Trial, O) ->
    #{clustering := C, path := P, degree := D, in_degrees := In, components := Components} =
        experiments_trial:shape(Trial),
    {_, Hops, _} = experiments_trial:reached_on_graph(20, Trial),
    Nodes = length(experiments_trial:alive(Trial)),
    emit(shape, Overlay, clustering_coefficient, C, O),
    emit(shape, Overlay, shortest_path, P, O),
    emit(shape, Overlay, max_hops, Hops, O),
    emit(shape, Overlay, mean_degree, D, O),
    emit(shape, Overlay, components, Components, O),
    maps:foreach(fun(N, Count) -> emit(in_degree, Overlay, N, 100 * Count / Nodes, O) end, In).

%% @doc View sizes; and the percentage of nodes by view size.
-spec view_size(atom(), experiments_trial:t(), options()) -> [{non_neg_integer(), float()}].
view_size(Overlay, Trial, O) ->
    Sizes = lists:sort([length(To) || To <- maps:values(experiments_trial:alive_graph(Trial))]),
    emit(view_size, Overlay, mean, mean(Sizes), O),
    emit(view_size, Overlay, median, lists:nth((length(Sizes) + 1) div 2, Sizes), O),
    [
        {Size, 100 * length([S || S <- Sizes, S =:= Size]) / length(Sizes)}
     || Size <- lists:usort(Sizes)
    ].

%% @doc Reach of broadcasts after that percentage of the nodes failed, each time from the same
%% moment: simulated while the overlay repairs itself, and computed once it is quiet.
-spec reliability(atom(), [1..99], experiments_trial:t(), options()) -> ok.
reliability(Overlay, Percentages, Trial, #{messages := Messages, simulated := Simulated} = O) ->
    lists:foreach(
        fun(Percent) ->
            say("~s: ~b % of the nodes fail", [Overlay, Percent], O),
            {Outcomes, After} = experiments_trial:broadcasts(Simulated, fail(Percent, Trial, O)),
            Shares = shares(Outcomes),
            % By then the overlay is quiet: the remaining messages meet what is left of it.
            {Rest, _, _} = experiments_trial:reached_on_graph(?ORIGINS, After),
            Mean = (lists:sum(Shares) + (Messages - Simulated) * mean(Rest)) / Messages,
            emit(reliability, Overlay, Percent, Mean, O),
            lists:foreach(
                fun({I, Share}) -> emit(label(recovery, Percent), Overlay, I, Share, O) end,
                [Point || Percent >= 80, Point <- lists:zip(lists:seq(1, length(Shares)), Shares)]
            )
        end,
        Percentages
    ).

%% @doc Cycles until broadcasts reach as much of the cluster as before the failures.
-spec healing(atom(), [1..99], experiments_trial:t(), options()) -> ok.
healing(Overlay, Percentages, Trial, #{healing_cycles := Most} = O) ->
    {Before, _, _} = experiments_trial:reached_on_graph(4 * ?HEALING_ORIGINS, Trial),
    Wanted = mean(Before) - ?HEALED_WITHIN,
    lists:foreach(
        fun(Percent) ->
            say("~s heals from ~b % failures", [Overlay, Percent], O),
            Cycles = heal(0, Most, Wanted, fail(Percent, Trial, O)),
            emit(healing, Overlay, Percent, Cycles, O)
        end,
        Percentages
    ).

heal(Most, Most, _Wanted, _Trial) ->
    Most;
heal(Cycle, Most, Wanted, Trial) ->
    Later = experiments_trial:run_cycles(1, Trial),
    {Shares, _, Next} = experiments_trial:reached_on_graph(?HEALING_ORIGINS, Later),
    case mean(Shares) >= Wanted of
        true -> Cycle + 1;
        false -> heal(Cycle + 1, Most, Wanted, Next)
    end.

%% @doc Fails that percentage of the nodes at once.
-spec fail(1..99, experiments_trial:t(), options()) -> experiments_trial:t().
fail(Percent, Trial, #{nodes := Nodes}) ->
    experiments_trial:crash(Nodes * Percent div 100, Trial).

%% @doc The percentage of living nodes that each broadcast reached.
-spec shares([experiments_trial:outcome()]) -> [float()].
shares(Outcomes) ->
    [100 * Delivered / Alive || #{delivered := Delivered, alive := Alive} <- Outcomes].

label(Experiment, Percent) ->
    binary_to_atom(iolist_to_binary(io_lib:format("~s_~b", [Experiment, Percent]))).
