%%% @doc Questions to all nodes over a tree: the bookkeeping of answers, as a value.
%%%
%%% A root asks its children, they ask theirs, and once all of a node's children have answered it
%%% answers with the sum of them and itself. This is the echo algorithm (Chang, "Echo algorithms:
%%% depth parallel operations on general graphs", IEEE TSE 1982). An asker is one incarnation of a
%%% node, and numbers its questions.
%%%
%%% == No double counting ==
%%% Whatever is lost, repeated or late, and however the tree changes meanwhile, a node adds itself
%%% to the answer to a question at most once, and an answer is added at most once. What is missing
%%% from a sum is corrected by the next question.
%%% <ul>
%%% <li>A node that receives a question again, over another link, answers with nothing: it remembers
%%%     the last number of every asker.</li>
%%% <li>A restarted node does not know whether its previous incarnation has been counted: to the
%%%     first question of an asker it adds its descendants and not itself.</li>
%%% <li>An asker has one open question at a time. A node that has received the next one knows that
%%%     answers to the previous one are no longer awaited: it remembers only the last number.</li>
%%% </ul>
%%% An unanswered question is given up for the next one: by the root after a while, by the others
%%% when they receive it.
-module(lasp_question).

-export([new/2]).
-export([ask/2]).
-export([heard/4]).
-export([contribute/2]).
-export([answered/4]).
-export([without/2]).
-export([tick/1]).

%% Intervals that a root waits.
-define(ROOT_TIMEOUT, 3).
%% Size of the hash that stands for an asker; collisions are not to be expected.
-define(ASKER_BYTES, 6).

-type asker() :: <<_:48>>.
-type id() :: {asker(), Number :: pos_integer()}.

-record(open, {
    id :: id(),
    from :: self | lasp_sync:name(),
    waiting :: ordsets:ordset(lasp_sync:name()),
    sums = #{} :: lasp_aggregate:sums(),
    age = 0 :: non_neg_integer()
}).

-record(questions, {
    self :: asker(),
    asked = 0 :: non_neg_integer(),
    last = #{} :: #{asker() => pos_integer()},
    open = none :: none | #open{}
}).

-opaque t() :: #questions{}.

-export_type([t/0, id/0]).

%% State of the open question; complete once all nodes asked have answered.
-type outcome() :: pending | {complete, id(), To :: self | lasp_sync:name(), lasp_aggregate:sums()}.

%% @doc The state of an incarnation that has asked nothing.
-spec new(lasp_sync:name(), partisan_peer:incarnation()) -> t().
new(Name, Incarnation) ->
    <<Self:?ASKER_BYTES/binary, _/binary>> =
        erlang:md5([Name, $/, integer_to_binary(Incarnation)]),
    #questions{self = Self}.

%% @doc Asks these nodes a question of this node's own, unless an open one may still be answered.
-spec ask([lasp_sync:name()], t()) -> {asked, id(), t()} | waiting.
ask(_Children, #questions{open = #open{from = self, age = Age}}) when Age < ?ROOT_TIMEOUT ->
    waiting;
ask(Children, #questions{self = Self, asked = Asked} = Q) ->
    Id = {Self, Asked + 1},
    Open = #open{id = Id, from = self, waiting = ordsets:from_list(Children)},
    {asked, Id, Q#questions{asked = Asked + 1, open = Open}}.

%% @doc Handles the parent's question, to be passed on to these children. `first': the first of this
%% asker, so this node must not add itself; `again': answer with nothing at once.
-spec heard(id(), From :: lasp_sync:name(), Children :: [lasp_sync:name()], t()) ->
    {first | next, t()} | again.
heard({Self, _}, _From, _Children, #questions{self = Self}) ->
    again;
heard({Asker, Number} = Id, From, Children, #questions{last = Last} = Q) ->
    Next = Q#questions{
        last = Last#{Asker => Number},
        open = #open{id = Id, from = From, waiting = ordsets:from_list(Children)}
    },
    case Last of
        #{Asker := Before} when Before >= Number -> again;
        #{Asker := _} -> {next, Next};
        #{} -> {first, Next}
    end.

%% @doc Adds this node's own contribution to the open question, and checks whether it is complete.
-spec contribute(lasp_aggregate:sums(), t()) -> {outcome(), t()}.
contribute(Sums, #questions{open = #open{sums = Before} = Open} = Q) ->
    settle(Q#questions{open = Open#open{sums = lasp_aggregate:add(Sums, Before)}}).

%% @doc Handles a child's answer; an unexpected one is ignored.
-spec answered(id(), From :: lasp_sync:name(), lasp_aggregate:sums(), t()) -> {outcome(), t()}.
answered(Id, From, Sums, #questions{open = #open{id = Id, waiting = Waiting} = Open} = Q) ->
    case ordsets:is_element(From, Waiting) of
        true ->
            Left = Open#open{waiting = ordsets:del_element(From, Waiting)},
            contribute(Sums, Q#questions{open = Left});
        false ->
            {pending, Q}
    end;
answered(_Id, _From, _Sums, Q) ->
    {pending, Q}.

%% @doc Stops waiting for all but these neighbours.
-spec without([lasp_sync:name()], t()) -> {outcome(), t()}.
without(Links, #questions{open = #open{waiting = Waiting} = Open} = Q) ->
    case ordsets:intersection(Waiting, ordsets:from_list(Links)) of
        Waiting -> {pending, Q};
        Left -> settle(Q#questions{open = Open#open{waiting = Left}})
    end;
without(_Links, Q) ->
    {pending, Q}.

%% @doc Advances by one interval.
-spec tick(t()) -> t().
tick(#questions{open = #open{age = Age} = Open} = Q) ->
    Q#questions{open = Open#open{age = Age + 1}};
tick(Q) ->
    Q.

%% Internals.

settle(#questions{open = #open{id = Id, from = To, waiting = [], sums = Sums}} = Q) ->
    {{complete, Id, To, Sums}, Q#questions{open = none}};
settle(Q) ->
    {pending, Q}.
