%%% @doc Steps of published messages that wait for room on their way to a node.
%%%
%%% In order per node. A publisher is held until all its own steps have found room, which bounds
%%% them; of other publishers' steps at most `mailbox_messages' wait per node. Part of the process
%%% of {@link partisan_pubsub}: it answers publishers itself.
-module(partisan_pubsub_steps).

-export([new/0]).
-export([hold/2]).
-export([release/2]).
-export([add/3]).
-export([first/2]).
-export([remove_first/2]).
-export([remove_all/2]).
-export([late/2]).
-export([waiting_for/1]).

-type name() :: partisan_peer:name().
-type tag() :: pos_integer() | partisan_brokers:tag().
%% A process of this node; or the message of another node, which {@link partisan_pubsub} answers on
%% `{served, Node, Id}'. `held': it waits for more than these steps. `none': it does not wait.
-type publisher() ::
    gen_server:from() | {copies, name(), partisan_topics:id()} | held | none.
-type message() :: partisan_topics:message() | {brokers, partisan_brokers:message()}.
-type step() :: {tag(), message(), publisher(), Deadline :: integer()}.

-record(steps, {
    waiting = #{} :: #{name() => {Length :: pos_integer(), queue:queue(step())}},
    % Number of steps that hold each publisher.
    held = #{} :: #{publisher() => pos_integer()}
}).

-opaque t() :: #steps{}.
-export_type([t/0, step/0, publisher/0, tag/0, message/0]).

%% @doc No step waits.
-spec new() -> t().
new() ->
    #steps{}.

%% @doc Holds the publisher once more.
-spec hold(publisher(), t()) -> t().
hold(NotHere, S) when NotHere =:= none; NotHere =:= held ->
    S;
hold(From, #steps{held = Held} = S) ->
    S#steps{held = Held#{From => maps:get(From, Held, 0) + 1}}.

%% @doc Releases the publisher once; it is answered when nothing holds it.
-spec release(publisher(), t()) -> t().
release(NotHere, S) when NotHere =:= none; NotHere =:= held ->
    S;
release(From, #steps{held = Held} = S) ->
    case maps:take(From, Held) of
        {1, Others} ->
            ok = answer(From),
            S#steps{held = Others};
        {Reasons, Others} ->
            S#steps{held = Others#{From => Reasons - 1}}
    end.

%% @doc Adds a step, unless `mailbox_messages' already wait for the node.
-spec add(name(), step(), t()) -> {ok, t()} | full.
add(Node, {_, _, Publisher, _} = Step, #steps{waiting = Waiting} = S) ->
    {Length, Queue} = maps:get(Node, Waiting, {0, queue:new()}),
    case Publisher =:= none andalso Length >= partisan_config:get(mailbox_messages) of
        true ->
            full;
        false ->
            Longer = {Length + 1, queue:in(Step, Queue)},
            {ok, hold(Publisher, S#steps{waiting = Waiting#{Node => Longer}})}
    end.

%% @doc The step that has waited longest for this node.
-spec first(name(), t()) -> {ok, step()} | none.
first(Node, #steps{waiting = Waiting}) ->
    case Waiting of
        #{Node := {_, Queue}} -> {ok, queue:get(Queue)};
        #{} -> none
    end.

%% @doc Removes the step that has waited longest for a node.
-spec remove_first(name(), t()) -> t().
remove_first(Node, #steps{waiting = Waiting} = S) ->
    #{Node := {Length, Queue}} = Waiting,
    {{value, {_, _, Publisher, _}}, Rest} = queue:out(Queue),
    Left =
        case Length of
            1 -> maps:remove(Node, Waiting);
            _ -> Waiting#{Node := {Length - 1, Rest}}
        end,
    release(Publisher, S#steps{waiting = Left}).

%% @doc Notes that nothing waits for this node any more.
-spec remove_all(name(), t()) -> {[tag()], t()}.
remove_all(Node, S) ->
    remove_while(fun(_) -> true end, Node, S).

%% @doc Removes all steps that have waited too long.
-spec late(Now :: integer(), t()) -> {[tag()], t()}.
late(Now, S) ->
    lists:foldl(
        fun(Node, {Tags, S0}) ->
            {More, S1} = remove_while(fun(Deadline) -> Deadline =< Now end, Node, S0),
            {Tags ++ More, S1}
        end,
        {[], S},
        waiting_for(S)
    ).

%% @doc The nodes that steps wait for.
-spec waiting_for(t()) -> [name()].
waiting_for(#steps{waiting = Waiting}) ->
    maps:keys(Waiting).

%% Internals.

answer({copies, Publisher, Id}) ->
    self() ! {served, Publisher, Id},
    ok;
answer(From) ->
    gen_server:reply(From, ok).

remove_while(Holds, Node, S) ->
    case first(Node, S) of
        {ok, {Tag, _, _, Deadline}} ->
            case Holds(Deadline) of
                true ->
                    {Tags, Left} = remove_while(Holds, Node, remove_first(Node, S)),
                    {[Tag | Tags], Left};
                false ->
                    {[], S}
            end;
        none ->
            {[], S}
    end.
