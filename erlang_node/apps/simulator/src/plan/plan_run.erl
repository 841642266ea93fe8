%%% @doc One planned cluster from its first node's start to the end of its run, in virtual time.
%%%
%%% Nodes start one after the other and join. A second after they are one component, the interval of
%%% the operator's reconciliation, the run is started on one of them. It is over when every node
%%% knows that all are done and all replicas are equal. Without a workload the overlay is observed
%%% for a minute.
%%%
%%% Bytes are reported for moments of the run, so that a part can be extrapolated to the whole:
%%% `warm' is a given number of milliseconds after the start, when all nodes have met and intervals
%%% are alike; at `counted' enough has been counted to end the run.
-module(plan_run).

-export([run/2]).

%% `warm_ms': 0 to omit that moment. `limit_ms': time limit of forming, and of the run beyond its
%% counting.
-type options() :: #{
    seed := integer(),
    latency := simulator_network:latency(),
    boot_gap_us := non_neg_integer(),
    zones := pos_integer(),
    warm_ms := non_neg_integer(),
    limit_ms := pos_integer(),
    progress := fun((string()) -> ok)
}.

%% Traffic until a moment, in seconds since the first node's start.
-type moment() :: #{
    at_seconds := float(),
    payload_bytes := non_neg_integer(),
    channels := #{atom() => #{messages := non_neg_integer(), bytes := non_neg_integer()}}
}.

-type result() :: #{
    nodes := pos_integer(),
    seed := integer(),
    % Seconds from a node's start to its first neighbour, and from the last start to one component.
    join_seconds_median := float(),
    join_seconds_most := float(),
    whole_seconds := float(),
    degree_mean := float(),
    degree_least := non_neg_integer(),
    degree_most := non_neg_integer(),
    moments := #{whole | warm | rested | started | counted | finished => moment()},
    run => map()
}.

-export_type([options/0, result/0]).

-record(run, {
    overlay :: plan_overlay:t(),
    counter :: none | plan_counter:t(),
    options :: options(),
    moments = #{} :: #{atom() => moment()}
}).

%% Step of the overlay between observations of links.
-define(STEP_MS, 10).
%% Interval of the checks for an end.
-define(LOOK_MS, 100).
-define(OPERATOR_MS, 1000).
-define(REST_MS, 60000).

%% @doc Simulates the cluster that a configuration describes.
-spec run(node_config:outline(), options()) -> {ok, result()} | {error, string()}.
run(Outline, Options) ->
    try
        Formed = form(begin_run(Outline, Options)),
        Shape = shape(Formed),
        {ok, maps:merge(Shape, ended(Formed))}
    catch
        throw:{refused, Text} -> {error, Text}
    end.

%% Internals: phases.

begin_run(#{overlay := {Kind, _}, workload := Workload} = Outline, #{zones := Zones} = Options) ->
    lists:member(Kind, partisan_overlay_registry:known()) orelse
        refuse("overlay: ~p is no kind that can be simulated", [Kind]),
    Names = plan_names:new(Outline#{zones => Zones}),
    Known = maps:merge(Options#{names => Names}, Outline),
    Counter =
        case Workload of
            none -> none;
            {adcounter, Parameters} -> plan_counter:new(Known#{parameters => Parameters});
            {Other, _} -> refuse("workload: ~p cannot be simulated", [Other])
        end,
    #run{overlay = plan_overlay:new(Known), counter = Counter, options = Options}.

form(#run{overlay = Overlay, options = #{limit_ms := Limit} = Options} = R) ->
    Started = map_size(plan_overlay:booted(Overlay)),
    say("~b nodes started, ~b joined", [Started, map_size(plan_overlay:joined(Overlay))], R),
    case plan_overlay:is_whole(Overlay) of
        true ->
            moment(whole, R);
        false ->
            Last = lists:max([0 | maps:values(plan_overlay:booted(Overlay))]),
            plan_overlay:now(Overlay) =< Last + max(Limit, gap_ms(Options)) orelse
                refuse("the overlay is not one component ~b s after the last node has started",
                    [Limit div 1000]),
            form(advance(?LOOK_MS, R))
    end.

ended(#run{counter = none} = R) ->
    #{moments => (moment(rested, advance(?REST_MS, R)))#run.moments};
ended(#run{options = #{warm_ms := Warm}} = R0) ->
    #run{counter = Waiting} = R1 = advance(?OPERATOR_MS, R0),
    R2 = moment(started, R1#run{counter = plan_counter:start(0, Waiting)}),
    R3 = count(Warm, R2),
    #run{counter = Counter, moments = Moments} = finish(0, R3),
    #{moments => Moments, run => plan_counter:result(Counter)}.

%% Until enough is counted, with a record of the moment `warm' on the way.
count(Warm, #run{counter = Counter, moments = #{started := Started} = Moments} = R) ->
    #{at_seconds := Start} = Started,
    Since = round(seconds(R) * 1000 - Start * 1000),
    say("~b counted, ~b s after the start", [plan_counter:counted(Counter), Since div 1000], R),
    case {plan_counter:is_counted(Counter), Moments} of
        {true, _} -> moment(counted, R);
        {false, #{warm := _}} -> count(Warm, advance(?STEP_MS, R));
        {false, _} when Warm > 0, Since >= Warm -> count(Warm, moment(warm, R));
        {false, _} -> count(Warm, advance(?STEP_MS, R))
    end.

finish(Spent, #run{counter = Counter, options = #{limit_ms := Limit}} = R) ->
    say("all counted, the replicas become equal", [], R),
    case plan_counter:is_finished(Counter) of
        true ->
            moment(finished, R);
        false when Spent < Limit ->
            finish(Spent + ?LOOK_MS, advance(?LOOK_MS, R));
        false ->
            refuse("the run has not converged ~b s after its last count", [Limit div 1000])
    end.

%% Internals: time. The overlay advances by a step, then what it carries follows.

advance(Milliseconds, R) when Milliseconds =< 0 ->
    R;
advance(Milliseconds, #run{overlay = Overlay0, counter = Counter0} = R) ->
    {Changes, Overlay} = plan_overlay:step(?STEP_MS, Overlay0),
    Counter =
        case Counter0 of
            none -> none;
            _ -> lists:foldl(fun change/2, plan_counter:run(?STEP_MS, Counter0), Changes)
        end,
    advance(Milliseconds - ?STEP_MS, R#run{overlay = Overlay, counter = Counter}).

change({boot, Ordinal, At}, Counter) -> plan_counter:boot(Ordinal, At, Counter);
change({What, Ordinal, Peer}, Counter) -> plan_counter:neighbour(What, Ordinal, Peer, Counter).

gap_ms(#{boot_gap_us := Gap}) -> Gap div 1000 + 1.

seconds(#run{overlay = Overlay}) ->
    plan_overlay:now(Overlay) / 1000.

%% Internals: results.

moment(Name, #run{overlay = Overlay, counter = Counter, moments = Moments} = R) ->
    #{payload := Payload, channels := Channels} =
        case Counter of
            none -> #{payload => 0, channels => #{}};
            _ -> plan_counter:sent(Counter)
        end,
    R#run{moments = Moments#{
        Name => #{
            at_seconds => seconds(R),
            payload_bytes => Payload,
            channels => Channels#{overlay => plan_overlay:sent(Overlay)}
        }
    }}.

shape(#run{overlay = Overlay, options = #{seed := Seed}, moments = #{whole := Whole}}) ->
    Booted = plan_overlay:booted(Overlay),
    Joins = lists:sort([
        (At - map_get(Ordinal, Booted)) / 1000
     || {Ordinal, At} <- maps:to_list(plan_overlay:joined(Overlay))
    ]),
    Degrees = [length(Peers) || Peers <- maps:values(plan_overlay:links(Overlay))],
    #{
        nodes => length(Degrees),
        seed => Seed,
        join_seconds_median => lists:nth((length(Joins) + 1) div 2, Joins),
        join_seconds_most => lists:last(Joins),
        whole_seconds => map_get(at_seconds, Whole) - lists:max(maps:values(Booted)) / 1000,
        degree_mean => lists:sum(Degrees) / length(Degrees),
        degree_least => lists:min(Degrees),
        degree_most => lists:max(Degrees)
    }.

say(Format, Arguments, #run{options = #{progress := Progress}} = R) ->
    Text = io_lib:format(Format, Arguments),
    Progress(lists:flatten(io_lib:format("~b s: ~ts", [round(seconds(R)), Text]))).

-spec refuse(io:format(), [term()]) -> no_return().
refuse(Format, Arguments) ->
    throw({refused, lists:flatten(io_lib:format(Format, Arguments))}).
