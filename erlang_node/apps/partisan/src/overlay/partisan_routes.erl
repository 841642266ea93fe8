%%% @doc Routes to members that are not neighbours: a routing tree, built on demand.
%%%
%%% A broadcast runs over a tree rooted at its origin, and every node on the way learns a way back:
%%% the neighbour it first heard from. So a node broadcasts a search for a member, and the member's
%%% answer follows the way back and teaches every hop the way forth: the reverse-path learning of
%%% AODV (Perkins and Royer, "Ad-hoc on-demand distance vector routing", WMCSA 1999) with Plumtree
%%% as its flood.
%%%
%%% A route is one hop of knowledge and may be out of date: it goes when its neighbour goes, and a
%%% silent member is searched for again. Forwarders bound the hops of a message, which also ends
%%% loops left by churn.
%%%
%%% A search reaches every node, and a busy cluster that answers late must not get more of them: a
%%% node searches for a few members at a time, the others wait.
%%%
%%% A pure layer; the stack carries its messages and reports what the broadcast layer hears.
-module(partisan_routes).

-export([new/1]).
-export([find/2]).
-export([heard/3]).
-export([sought/2]).
-export([found/3]).
-export([timeout/2]).
-export([forget_neighbour/2]).

-type name() :: partisan_peer:name().
-type msg() :: {found, Sought :: name(), Seeker :: name(), HopsLeft :: non_neg_integer()}.
-type action() ::
    % Broadcast this node's search to all nodes.
    {seek, Sought :: name()}
    | {send, Neighbour :: name(), msg()}
    | {start_timer, Sought :: name(), pos_integer()}
    % The route to a member is known, has changed, or is lost.
    | {route, name(), Neighbour :: name()}
    | {no_route, name()}.

-export_type([msg/0, action/0]).

-define(HOPS, 64).
%% Concurrent searches, and those that may wait.
-define(AT_ONCE, 8).
-define(WAITING, 256).
-define(ATTEMPTS, 3).
-define(FIRST_TIMEOUT, 1000).

-record(routes, {
    self :: name(),
    via = #{} :: #{name() => Neighbour :: name()},
    % Members searched for, and the attempts made.
    seeking = #{} :: #{name() => pos_integer()},
    % Members waiting to be searched for, in order.
    waiting = [] :: [name()]
}).

-opaque t() :: #routes{}.
-export_type([t/0]).

%% @doc A node without routes.
-spec new(Self :: name()) -> t().
new(Self) ->
    #routes{self = Self}.

%% @doc Searches for a member unless a search is under way; gives up at once if too many are
%% waiting.
-spec find(name(), t()) -> {t(), [action()]}.
find(Sought, #routes{seeking = Seeking, waiting = Waiting} = R) ->
    case is_sought(Sought, R) of
        true -> {R, []};
        false when map_size(Seeking) < ?AT_ONCE -> seek(Sought, 1, R);
        false when length(Waiting) < ?WAITING -> {R#routes{waiting = Waiting ++ [Sought]}, []};
        false -> {R, [{no_route, Sought}]}
    end.

%% @doc Learns that broadcasts of this member come by way of this neighbour.
-spec heard(name(), name(), t()) -> {t(), [action()]}.
heard(Origin, Via, R) ->
    learn(Origin, Via, R).

%% @doc Answers another node's search for this node, along the way it came.
-spec sought(Seeker :: name(), t()) -> {t(), [action()]}.
sought(Seeker, #routes{self = Self} = R) ->
    {R, forward({found, Self, Seeker, ?HOPS}, R)}.

%% @doc Forwards an answer, or accepts it.
-spec found(msg(), From :: name(), t()) -> {t(), [action()]}.
found({found, Sought, Seeker, Hops}, From, #routes{self = Self} = R0) ->
    {R1, Actions} = learn(Sought, From, R0),
    case Seeker of
        Self -> {R1, Actions};
        _ when Hops > 0 -> {R1, Actions ++ forward({found, Sought, Seeker, Hops - 1}, R1)};
        _ -> {R1, Actions}
    end.

%% @doc Repeats or ends a search that got no answer.
-spec timeout(name(), t()) -> {t(), [action()]}.
timeout(Sought, #routes{seeking = Seeking} = R) ->
    case Seeking of
        #{Sought := Attempts} when Attempts < ?ATTEMPTS ->
            seek(Sought, Attempts + 1, R);
        #{Sought := _} ->
            {R1, Actions} = no_longer(Sought, R),
            {R1, [{no_route, Sought} | Actions]};
        #{} ->
            {R, []}
    end.

%% @doc Removes a lost neighbour's routes.
-spec forget_neighbour(name(), t()) -> {t(), [action()]}.
forget_neighbour(Neighbour, #routes{via = Via} = R) ->
    Lost = [Name || {Name, N} <- maps:to_list(Via), N =:= Neighbour],
    {R#routes{via = maps:without(Lost, Via)}, [{no_route, Name} || Name <- Lost]}.

%% Internals.

seek(Sought, Attempt, #routes{seeking = Seeking} = R) ->
    Timeout = ?FIRST_TIMEOUT bsl (Attempt - 1),
    {R#routes{seeking = Seeking#{Sought => Attempt}}, [
        {seek, Sought},
        {start_timer, Sought, Timeout}
    ]}.

learn(Self, _Via, #routes{self = Self} = R) ->
    {R, []};
learn(Name, Via, #routes{via = Known} = R0) ->
    case {is_sought(Name, R0), Known} of
        % Most broadcasts teach a node nothing new.
        {false, #{Name := Via}} ->
            {R0, []};
        {false, #{}} ->
            {R0#routes{via = Known#{Name => Via}}, [{route, Name, Via}]};
        {true, #{}} ->
            {R, Actions} = no_longer(Name, R0),
            {R#routes{via = Known#{Name => Via}}, [{route, Name, Via} | Actions]}
    end.

is_sought(Name, #routes{seeking = Seeking, waiting = Waiting}) ->
    is_map_key(Name, Seeking) orelse lists:member(Name, Waiting).

%% A search has ended or is no longer needed: the next one starts.
no_longer(Sought, #routes{seeking = Seeking0, waiting = Waiting0} = R0) ->
    Seeking = maps:remove(Sought, Seeking0),
    Waiting = lists:delete(Sought, Waiting0),
    R = R0#routes{seeking = Seeking, waiting = Waiting},
    case Waiting of
        [Next | Later] when map_size(Seeking) < ?AT_ONCE ->
            seek(Next, 1, R#routes{waiting = Later});
        _ ->
            {R, []}
    end.

forward({found, _, Seeker, _} = Msg, #routes{via = Via}) ->
    case Via of
        #{Seeker := Neighbour} -> [{send, Neighbour, Msg}];
        % The way back has broken since; the seeker asks again.
        #{} -> []
    end.
