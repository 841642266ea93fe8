%%% @doc Explores the executions of a protocol under faults, and finds those that violate its
%%% property.
%%%
%%% Depth first over the tree of decisions. A world is a value, so a branch costs nothing, and a
%%% message that only an execution with faults sends is decided about when it arrives, like any
%%% other. Each distinct execution runs once.
%%%
%%% ```
%%% #{executions := 729, failing := 19, complete := true} =
%%%     verify_explore:run(#{module => two_phase_commit, nodes => 4}).
%%% '''
%%%
%%% {@link verify_search} describes a search, {@link verify_tally} its result. A callback that does
%%% not return is a violation ({@link verify_watch}).
-module(verify_explore).

-export([run/1]).
-export([base/1]).

%% `messages': those of the execution without faults. `memory_mb': the maximum of the VM. The rest
%% is {@link verify_tally:result()}.
-type result() :: #{
    executions := non_neg_integer(),
    failing := non_neg_integer(),
    messages := non_neg_integer(),
    seconds := float(),
    executions_per_s := float(),
    memory_mb := float(),
    _ => _
}.

-export_type([result/0]).

-record(search, {
    specification :: map(),
    % Decisions about a message and before an event, `deliver' first.
    message :: [verify_world:decision()],
    event :: [verify_world:decision()],
    % Keys that are decided about, and how many they are.
    base :: all | #{verify_world:key() | verify_world:crash_key() => true},
    messages :: non_neg_integer(),
    inert :: #{atom() => true},
    most :: non_neg_integer() | infinity,
    merge :: boolean(),
    shard :: none | {non_neg_integer(), pos_integer()},
    worker :: verify_watch:worker()
}).

-record(found, {
    tally = verify_tally:new() :: verify_tally:t(),
    stopped = false :: boolean(),
    % Situations that have been explored, and subtrees that have been numbered.
    seen = #{} :: #{binary() => true},
    subtree = 0 :: non_neg_integer()
}).

%% Where the walk is: decisions but `deliver', latest first; their number; all decisions.
-record(path, {
    schedule = [] :: verify_schedule:t(),
    used = 0 :: non_neg_integer(),
    depth = 0 :: non_neg_integer(),
    order = distinct :: distinct | verify_symmetry:t()
}).

%% The subtrees below this many decisions are divided among shards.
-define(SHARD_DEPTH, 10).
%% Situations kept to recognise them again; beyond these less is merged.
-define(SITUATIONS, 500000).

%% @doc Runs a search, in scope `raw', `base' or `recursive'. Raises
%% `{invalid_search, Description}'.
-spec run(verify_search:t()) -> result().
run(Search0) ->
    Search = verify_search:complete(Search0),
    Started = erlang:monotonic_time(microsecond),
    {{Tally, Messages}, Memory} = verify_watch:run(fun(W) -> explore(Search, W) end, Search),
    Seconds = max(1, erlang:monotonic_time(microsecond) - Started) / 1000000,
    Result = verify_tally:result(Search, Tally),
    without_subsets(Search, Result#{
        messages => Messages,
        seconds => Seconds,
        executions_per_s => verify_tally:executions(Tally) / Seconds,
        memory_mb => Memory / 1000000
    }).

%% @doc The keys of the execution without faults, in the order of its points.
-spec base(verify_world:t()) -> [verify_world:key() | verify_world:crash_key()].
base(World) ->
    Deliver = fun(Point, Keys) -> {deliver, [verify_schedule:key(Point) | Keys]} end,
    {_End, Keys} = verify_world:run(Deliver, [], World),
    lists:reverse(Keys).

%% Internals.

%% Only decisions about the messages of the execution without faults make subsets of them.
without_subsets(#{scope := recursive}, Result) -> maps:remove(raw, Result);
without_subsets(#{order := symmetric}, Result) -> maps:remove(raw, Result);
without_subsets(#{decisions := Kinds}, Result) ->
    case lists:member(crash, Kinds) of
        true -> maps:remove(raw, Result);
        false -> Result
    end.

explore(#{world := Options} = Search0, Worker) ->
    Guarded = verify_watch:is_guarded(0, Worker),
    Search = Search0#{world := maps:merge(#{trace => false}, Options#{guard => Guarded})},
    World = verify_search:world(Search),
    Base = base(World),
    S = search(Search, World, Base, Worker),
    #found{tally = Tally} =
        case Search of
            #{scope := raw} ->
                subsets(Base, [], #{}, World, S, #found{});
            #{order := distinct} ->
                walk(World, #path{}, S, #found{});
            #{order := symmetric} ->
                Order = verify_symmetry:start(verify_search:group(Search)),
                walk(World, #path{order = Order}, S, #found{})
        end,
    {Tally, S#search.messages}.

search(Search, World, Base, Worker) ->
    #{scope := Scope, decisions := Kinds, most := Most, merge := Merge, shard := Shard} = Search,
    #search{
        specification = Search,
        message = [deliver | lists:delete(crash, Kinds)],
        event = [deliver | [crash || lists:member(crash, Kinds)]],
        base =
            case Scope of
                recursive -> all;
                _ -> maps:from_list([{Key, true} || Key <- Base])
            end,
        messages = length([Key || {_From, _To, _Type, _Occurrence} = Key <- Base]),
        inert = maps:from_list([{Type, true} || Type <- verify_unsound:inert(World, Search)]),
        most = Most,
        merge = Merge,
        shard =
            case Shard of
                {0, 1} -> none;
                _ -> Shard
            end,
        worker = Worker
    }.

%% Every subset of the decisions about the messages of the execution without faults, each run from
%% the beginning.
subsets(_Keys, _Schedule, _Decisions, _World, _S, #found{stopped = true} = F) ->
    cut(1, F);
subsets([], Schedule, Decisions, World, #search{} = S, F) ->
    Decide = fun({_, Key, _}, none) ->
        case Decisions of
            #{Key := Decision} -> {Decision, none};
            #{} -> {deliver, none}
        end
    end,
    {End, none} = verify_world:run(Decide, none, guarded(World, S, F)),
    leaf(End, #path{schedule = Schedule, depth = S#search.messages}, S, F);
subsets([Key | Keys], Schedule, Decisions, World, #search{message = [deliver | Faults]} = S, F0) ->
    F1 = subsets(Keys, Schedule, Decisions, World, S, F0),
    Branch = fun(Fault, F) ->
        subsets(Keys, [{Key, Fault} | Schedule], Decisions#{Key => Fault}, World, S, F)
    end,
    lists:foldl(Branch, F1, Faults).

%% The tree.
walk(World0, #path{depth = Depth} = Path, S, F) ->
    case verify_world:next(World0) of
        {quiet, World} when Depth =< ?SHARD_DEPTH -> of_shard(World, Path, S, F, fun leaf/4);
        {quiet, World} -> leaf(World, Path, S, F);
        {choice, Point, World} -> point(Point, verify_schedule:key(Point), World, Path, S, F)
    end.

point(Point, Key, World, #path{used = Used, depth = Depth} = Path, #search{most = Most} = S, F) ->
    case decisions(Point, Key, S) of
        none ->
            walk(verify_world:choose(deliver, guarded(World, S, F)), Path, S, F);
        _Decisions when Used =:= Most ->
            subtree([deliver], Key, World, Path#path{depth = Depth + 1}, S, F);
        Decisions ->
            subtree(Decisions, Key, World, Path#path{depth = Depth + 1}, S, F)
    end.

subtree(Decisions, Key, World0, #path{depth = Depth} = Path0, S0, F0) ->
    Explore = fun(World, Path, S, F1) ->
        case unless_seen(World, Path, S, F1) of
            {seen, F} -> F;
            {new, F} -> branches(Decisions, 0, Key, World, Path, S, F)
        end
    end,
    if
        Depth =:= ?SHARD_DEPTH + 1 -> of_shard(World0, Path0, S0, F0, Explore);
        true -> Explore(World0, Path0, S0, F0)
    end.

%% Numbers the leaves and subtrees at the depth of shards, and explores those of this shard.
of_shard(World, Path, #search{shard = none} = S, F, Explore) ->
    Explore(World, Path, S, F);
of_shard(World, Path, #search{shard = {Index, Shards}} = S, F, Explore) ->
    #found{subtree = Number} = F,
    Numbered = F#found{subtree = Number + 1},
    if
        Number rem Shards =:= Index -> Explore(World, Path, S, Numbered);
        true -> Numbered
    end.

unless_seen(_World, _Path, #search{merge = false}, F) ->
    {new, F};
unless_seen(World, #path{used = Used}, #search{most = Most, worker = Worker}, F) ->
    #found{seen = Seen} = F,
    Left =
        case Most of
            infinity -> infinity;
            _ -> Most - Used
        end,
    Digest = erlang:md5(term_to_binary({Left, verify_world:situation(World)})),
    if
        is_map_key(Digest, Seen) -> {seen, F#found{stopped = verify_watch:merged(Worker) =:= stop}};
        map_size(Seen) >= ?SITUATIONS -> {new, F};
        true -> {new, F#found{seen = Seen#{Digest => true}}}
    end.

decisions({message, _, _}, {_, _, Type, _} = Key, #search{inert = Inert} = S) when
    not is_map_key(Type, Inert)
->
    in_scope(Key, S#search.message, S);
decisions({event, _}, Key, S) ->
    in_scope(Key, S#search.event, S);
decisions(_Point, _Key, _S) ->
    none.

in_scope(_Key, Decisions, #search{base = all}) -> Decisions;
in_scope(Key, Decisions, #search{base = Base}) when is_map_key(Key, Base) -> Decisions;
in_scope(_Key, _Decisions, _S) -> none.

branches([], _Rank, _Key, _World, _Path, _S, F) ->
    F;
branches(Decisions, _Rank, _Key, _World, _Path, _S, #found{stopped = true} = F) ->
    cut(length(Decisions), F);
branches([Decision | Rest], Rank, Key, World, Path, S, F0) ->
    F = branch(Decision, Rank, Key, World, Path, S, F0),
    branches(Rest, Rank + 1, Key, World, Path, S, F).

branch(Decision, Rank, Key, World, #path{schedule = Schedule, used = Used} = Path, S, F) ->
    case ordered(Key, Rank, Path) of
        symmetric ->
            F;
        Ordered when Decision =:= deliver ->
            walk(verify_world:choose(deliver, guarded(World, S, F)), Ordered, S, F);
        Ordered ->
            Decided = Ordered#path{schedule = [{Key, Decision} | Schedule], used = Used + 1},
            walk(verify_world:choose(Decision, guarded(World, S, F)), Decided, S, F)
    end.

ordered(_Key, _Rank, #path{order = distinct} = Path) ->
    Path;
ordered(Key, Rank, #path{order = Order} = Path) ->
    case verify_symmetry:step(Key, Rank, Order) of
        symmetric -> symmetric;
        Tied -> Path#path{order = Tied}
    end.

leaf(World, #path{schedule = Schedule, depth = Depth}, #search{worker = Worker} = S, F) ->
    #search{specification = Search, message = Decisions, messages = Messages} = S,
    #found{tally = Tally0} = F,
    Subsets = pow(length(Decisions), max(0, Messages - Depth)),
    IsGuarded = verify_watch:is_guarded(verify_tally:executions(Tally0), Worker),
    Violation = verify_search:violation(Search, World, IsGuarded),
    Tally = verify_tally:add(Violation, Schedule, Subsets, Tally0),
    case verify_watch:count(verify_tally:executions(Tally), verify_tally:failing(Tally), Worker) of
        continue -> F#found{tally = Tally};
        stop -> F#found{tally = Tally, stopped = true}
    end.

guarded(World, #search{worker = Worker}, #found{tally = Tally}) ->
    case verify_watch:is_guarded(verify_tally:executions(Tally), Worker) of
        false -> World;
        true -> verify_world:guarded(World)
    end.

cut(Branches, #found{tally = Tally} = F) ->
    F#found{tally = verify_tally:cut(Branches, Tally)}.

pow(_Base, 0) -> 1;
pow(Base, N) -> Base * pow(Base, N - 1).
