%%% @doc Symmetric executions: those that differ only by the names of interchangeable nodes.
%%%
%%% Of each set of symmetric executions the explorer needs one, the first in its own order: the
%%% lex-leader (Crawford, Ginsberg, Luks, Roy: "Symmetry-breaking predicates for search problems",
%%% KR 1996, section 3). A renaming maps an execution to another one of the tree. Both take the same
%%% way down to the first key whose decision differs. If the other one decides earlier there, the
%%% present one is not the leader, and neither is anything below it.
%%%
%%% Sound if the process is symmetric as its `symmetry/1' declares (see {@link partisan_process}),
%%% and no node crashes: messages that arrive at the same time are ordered by the names of their
%%% senders, so renaming them changes which are handled before a crash between two of them.
-module(verify_symmetry).

-export([group/2]).
-export([start/1]).
-export([step/3]).
-export([classes/2]).

-type name() :: partisan_process:name().
-type key() :: verify_world:key() | verify_world:crash_key().
-type renaming() :: #{name() => name()}.
%% All renamings but the identity.
-type group() :: [renaming()].

-record(tied, {
    % The ranks of decided keys, and the keys in the order of the decisions.
    ranks = #{} :: #{key() => non_neg_integer()},
    keys = #{} :: #{non_neg_integer() => key()},
    % Renamings that may still lead to an earlier execution, with the number of keys that are
    % compared and equal.
    renamings :: [{renaming(), non_neg_integer()}]
}).

-opaque t() :: #tied{}.
-export_type([t/0, group/0]).

%% Beyond this many interchangeable nodes only swaps of two are tried: fewer executions are
%% recognised as symmetric.
-define(INTERCHANGEABLE, 6).

%% @doc The renamings within sets of interchangeable nodes, of which some keep their names.
-spec group([[name()]], Fixed :: [name()]) -> group().
group(Sets, Fixed) ->
    Free = [lists:usort(Set) -- Fixed || Set <- Sets],
    Renamings = lists:foldl(
        fun(Set, Group) -> [maps:merge(A, B) || A <- Group, B <- renamings(Set)] end, [#{}], Free
    ),
    [Renaming || Renaming <- Renamings, map_size(Renaming) > 0].

%% @doc The comparison at the root of the tree.
-spec start(group()) -> t().
start(Group) ->
    #tied{renamings = [{Renaming, 0} || Renaming <- Group]}.

%% @doc The comparison after a decision of this rank in the order of the branches; `symmetric' if
%% all that follows is symmetric to earlier executions.
-spec step(key(), Rank :: non_neg_integer(), t()) -> symmetric | t().
step(_Key, _Rank, #tied{renamings = []} = T) ->
    T;
step(Key, Rank, #tied{ranks = Ranks0, keys = Keys0, renamings = Renamings} = T) ->
    Ranks = Ranks0#{Key => Rank},
    Keys = Keys0#{map_size(Keys0) => Key},
    case compare(Renamings, Ranks, Keys, []) of
        symmetric -> symmetric;
        Tied -> T#tied{ranks = Ranks, keys = Keys, renamings = Tied}
    end.

%% @doc One schedule of each class of symmetric schedules.
-spec classes([verify_schedule:t()], group()) -> [verify_schedule:t()].
classes(Schedules, Group) ->
    Least = fun(Schedule) ->
        lists:min([verify_schedule:canonical(rename(Schedule, R)) || R <- [#{} | Group]])
    end,
    lists:usort([Least(Schedule) || Schedule <- Schedules]).

%% Internals.

%% Renamings without the names that they keep. A group is closed under inverses, so it does not
%% matter which of both a map is.
renamings(Set) when length(Set) =< ?INTERCHANGEABLE ->
    [
        maps:from_list([{From, To} || {From, To} <- lists:zip(Set, Permutation), From =/= To])
     || Permutation <- permutations(Set)
    ];
renamings(Set) ->
    [#{} | [#{A => B, B => A} || A <- Set, B <- Set, A < B]].

permutations([]) -> [[]];
permutations(Set) -> [[First | Rest] || First <- Set, Rest <- permutations(Set -- [First])].

compare([], _Ranks, _Keys, Tied) ->
    Tied;
compare([{Renaming, Equal} | Rest], Ranks, Keys, Tied) ->
    case compare_one(Renaming, Equal, Ranks, Keys) of
        earlier -> symmetric;
        later -> compare(Rest, Ranks, Keys, Tied);
        Compared -> compare(Rest, Ranks, Keys, [{Renaming, Compared} | Tied])
    end.

compare_one(_Renaming, Index, _Ranks, Keys) when Index =:= map_size(Keys) ->
    Index;
compare_one(Renaming, Index, Ranks, Keys) ->
    #{Index := Key} = Keys,
    #{Key := Mine} = Ranks,
    case maps:find(renamed(Key, Renaming), Ranks) of
        {ok, Mine} -> compare_one(Renaming, Index + 1, Ranks, Keys);
        {ok, Other} when Other < Mine -> earlier;
        {ok, _Later} -> later;
        error -> Index
    end.

rename(Schedule, Renaming) ->
    [{renamed(Key, Renaming), Decision} || {Key, Decision} <- Schedule].

renamed({crash, Name, N}, Renaming) ->
    {crash, renamed_node(Name, Renaming), N};
renamed({From, To, Type, Occurrence}, Renaming) ->
    {renamed_node(From, Renaming), renamed_node(To, Renaming), Type, Occurrence}.

renamed_node(Name, Renaming) ->
    case Renaming of
        #{Name := Other} -> Other;
        #{} -> Name
    end.
