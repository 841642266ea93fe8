%%% @doc Which nodes and channels are up, as a value: events in, notifications out.
%%%
%%% A node is up from the moment it becomes a neighbour until this incarnation of it is lost
%%% ({@link partisan_remote}). A broken connection that is dialled again is no event, nor is in a
%%% partial view an exchange of neighbours. So each incarnation is reported once up and once down;
%%% one that was lost by a partition and returns is reported again. A channel is up while at least
%%% one of its connections to the node is.
-module(partisan_events).

-export([new/0]).
-export([up/1]).
-export([subscribe/3]).
-export([unsubscribe/3]).
-export([forget/2]).
-export([node_up/2]).
-export([node_down/3]).
-export([lane_up/3]).
-export([lane_down/2]).

-type name() :: partisan_peer:name().
%% A node, or any.
-type pattern() :: name() | '_'.
%% Options as a list or as a map: the information of a notification has the same form.
-type key() :: node | {node, [{atom(), term()}] | #{atom() => term()}} | hook().
%% Calls a function with the name of the node.
-type hook() :: {up | down, pattern(), Channel :: atom(), fun((name()) -> term())}.
-type effect() :: {send, pid(), Message :: term()} | {run, fun((name()) -> term()), name()}.
-export_type([key/0, pattern/0, effect/0]).

-record(events, {
    nodes = #{} :: #{name() => true},
    lanes = #{} :: #{pid() => {name(), Channel :: atom()}},
    % In the order of subscription.
    subscriptions = [] :: [{pid(), key()}]
}).

-opaque t() :: #events{}.
-export_type([t/0]).

%% @doc Nothing is up.
-spec new() -> t().
new() ->
    #events{}.

%% @doc The nodes that are up, sorted.
-spec up(t()) -> [name()].
up(#events{nodes = Nodes}) ->
    lists:sort(maps:keys(Nodes)).

%% @doc Adds a subscription of a process: as many notifications as subscriptions.
-spec subscribe(pid(), key(), t()) -> t().
subscribe(Pid, Key, #events{subscriptions = Subscriptions} = E) ->
    E#events{subscriptions = Subscriptions ++ [{Pid, Key}]}.

%% @doc Removes all equal subscriptions of a process.
-spec unsubscribe(pid(), key(), t()) -> t().
unsubscribe(Pid, Key, #events{subscriptions = Subscriptions} = E) ->
    E#events{subscriptions = [S || S <- Subscriptions, S =/= {Pid, Key}]}.

%% @doc Removes all subscriptions of a process.
-spec forget(pid(), t()) -> t().
forget(Pid, #events{subscriptions = Subscriptions} = E) ->
    E#events{subscriptions = [S || {P, _} = S <- Subscriptions, P =/= Pid]}.

%% @doc A node has become a neighbour.
-spec node_up(name(), t()) -> {[effect()], t()}.
node_up(Name, #events{nodes = Nodes} = E) when is_map_key(Name, Nodes) ->
    {[], E};
node_up(Name, #events{nodes = Nodes} = E) ->
    {effects(nodeup, Name, [], E), E#events{nodes = Nodes#{Name => true}}}.

%% @doc This incarnation of a node is lost.
-spec node_down(name(), Reason :: term(), t()) -> {[effect()], t()}.
node_down(Name, Reason, #events{nodes = Nodes} = E) ->
    case maps:take(Name, Nodes) of
        {true, Others} ->
            Info = [{nodedown_reason, Reason}],
            {effects(nodedown, Name, Info, E), E#events{nodes = Others}};
        error ->
            {[], E}
    end.

%% @doc A connection of a channel has been established.
-spec lane_up(pid(), {name(), Channel :: atom()}, t()) -> {[effect()], t()}.
lane_up(Lane, _Key, #events{lanes = Lanes} = E) when is_map_key(Lane, Lanes) ->
    {[], E};
lane_up(Lane, Key, #events{lanes = Lanes} = E) ->
    Effects = [Effect || not has_lanes(Key, Lanes), Effect <- hooks(up, Key, E)],
    {Effects, E#events{lanes = Lanes#{Lane => Key}}}.

%% @doc A connection has broken or ended.
-spec lane_down(pid(), t()) -> {[effect()], t()}.
lane_down(Lane, #events{lanes = Lanes} = E) ->
    case maps:take(Lane, Lanes) of
        {Key, Others} ->
            Effects = [Effect || not has_lanes(Key, Others), Effect <- hooks(down, Key, E)],
            {Effects, E#events{lanes = Others}};
        error ->
            {[], E}
    end.

%% Internals.

has_lanes(Key, Lanes) ->
    lists:member(Key, maps:values(Lanes)).

hooks(Event, {Name, Channel}, #events{subscriptions = Subscriptions}) ->
    [
        {run, Fun, Name}
     || {_, {E, Pattern, C, Fun}} <- Subscriptions,
        E =:= Event,
        C =:= Channel,
        matches(Name, Pattern)
    ].

effects(Event, Name, Info, #events{subscriptions = Subscriptions}) ->
    lists:flatmap(fun(S) -> effect(S, Event, Name, Info) end, Subscriptions).

effect({Pid, node}, Event, Name, _Info) ->
    [{send, Pid, {Event, Name}}];
effect({Pid, {node, #{} = Options}}, Event, Name, Info) ->
    [
        {send, Pid, {Event, Name, maps:from_list(Shown)}}
     || Shown <- shown(Info, maps:to_list(Options))
    ];
effect({Pid, {node, Options}}, Event, Name, Info) ->
    [{send, Pid, {Event, Name, Shown}} || Shown <- shown(Info, Options)];
effect({_Pid, {When, Pattern, any, Fun}}, Event, Name, _Info) ->
    Is = When =:= up andalso Event =:= nodeup orelse When =:= down andalso Event =:= nodedown,
    [{run, Fun, Name} || Is, matches(Name, Pattern)];
effect({_Pid, _Channel}, _Event, _Name, _Info) ->
    [].

%% The information that the options ask for, once; not at all if they exclude the node.
shown(Info0, Options) ->
    Info = [I || {Option, _} = I <- Info0, proplists:get_bool(Option, Options)],
    case proplists:get_value(node_type, Options) of
        undefined -> [Info];
        % No node is hidden.
        hidden -> [];
        _ -> [[{node_type, visible} | Info]]
    end.

matches(_Name, '_') -> true;
matches(Name, Pattern) -> Name =:= Pattern.
