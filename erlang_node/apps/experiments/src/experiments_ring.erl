%%% @doc Campaigns of faults against the key-value store on the ring ({@link ring_campaign}), one
%%% for each seed, in virtual time.
-module(experiments_ring).

-export([names/0]).
-export([run/2]).

-type name() :: ring_campaigns.
%% `cycles': the number of campaigns, from the seed on.
-type options() :: #{
    seed := integer(), cycles := non_neg_integer(), nodes := pos_integer(), atom() => term()
}.

-export_type([name/0, options/0]).

%% Nodes of a campaign.
-define(NODES, 5).
%% Campaigns between two reports of progress.
-define(PROGRESS, 500).

%% @doc The names of the experiments.
-spec names() -> [name()].
names() ->
    [ring_campaigns].

%% @doc Runs the campaigns. Figures: what clients did, violations of the guarantees, and campaigns
%% at whose end a partition is unavailable. The seeds of both are reported as progress.
-spec run(name(), options()) -> ok.
run(ring_campaigns, #{seed := First, cycles := Count} = Given) ->
    Options = Given#{nodes => ?NODES},
    Sums = lists:foldl(
        fun(Seed, Acc) -> add(campaign(Seed, Seed - First, Options), Acc) end,
        #{writes => 0, reads => 0, violations => 0, unsettled => 0},
        lists:seq(First, First + Count - 1)
    ),
    lists:foreach(
        fun({Figure, Value}) ->
            experiments_cells:emit(ring, key_value_store, Figure, Value, Options)
        end,
        [{campaigns, Count} | lists:sort(maps:to_list(Sums))]
    ).

%% Internals.

campaign(Seed, Done, Options) ->
    #{writes := Writes, reads := Reads, violations := Violations, settled := Settled} =
        ring_campaign:run(#{seed => Seed, nodes => ?NODES}),
    _ = Done rem ?PROGRESS =:= 0 andalso
        experiments_cells:say("~b campaigns", [Done], Options),
    _ = [
        experiments_cells:say("seed ~b: ~0tp", [Seed, Violation], Options)
     || Violation <- Violations
    ],
    _ = Settled orelse experiments_cells:say("seed ~b has not settled", [Seed], Options),
    #{
        writes => Writes,
        reads => Reads,
        violations => length(Violations),
        unsettled => length([Seed || not Settled])
    }.

add(Figures, Sums) ->
    maps:map(fun(Figure, Sum) -> Sum + map_get(Figure, Figures) end, Sums).
