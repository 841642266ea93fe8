%%% @doc Questions to everybody over a tree: who has answered what, as a value.
%%%
%%% A root asks its children, they ask theirs, and when all of a node's children have answered the
%%% node answers, with the sum of it all. That is the echo algorithm (Chang, "Echo algorithms:
%%% depth parallel operations on general graphs", IEEE TSE 1982). Questions of an asker are
%%% numbered, and an asker is one life of a node.
%%%
%%% == Nobody is counted twice ==
%%% whatever is lost, repeated, late, or becomes of the tree meanwhile: a node adds itself to the
%%% answer to a question at most once, and an answer is added at most once. What is missing from a
%%% sum is made good by the next question.
%%% <ul>
%%% <li>A node that hears a question again, over another link, answers that with nothing: it
%%%     remembers the last number of every asker.</li>
%%% <li>A node that has lost that memory does not know whether its former life has been counted: to
%%%     the first question that it hears of an asker it adds those behind it and not itself.</li>
%%% <li>An asker has one question at a time. Whoever has heard the next one knows that nobody waits
%%%     for the answers to the one before, so that the last number is memory enough.</li>
%%% </ul>
%%% A question that is not answered is given up for the next one: by the root after a while, by the
%%% others when they hear it.
-module(lasp_question).

-export([new/2]).
-export([ask/2]).
-export([heard/4]).
-export([contribute/2]).
-export([answered/4]).
-export([without/2]).
-export([tick/1]).

%% A root waits for so many intervals.
-define(PATIENCE, 3).
%% Of the hash that stands for an asker: two that are the same are not to be expected.
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

%% What has come of the open question: everybody that was asked has answered.
-type outcome() :: pending | {complete, id(), To :: self | lasp_sync:name(), lasp_aggregate:sums()}.

%% @doc A life of a node that has asked nothing.
-spec new(lasp_sync:name(), partisan_peer:incarnation()) -> t().
new(Name, Incarnation) ->
    <<Self:?ASKER_BYTES/binary, _/binary>> =
        erlang:md5([Name, $/, integer_to_binary(Incarnation)]),
    #questions{self = Self}.

%% @doc Asks these nodes a question of this node's own, unless one is open that may still be
%% answered.
-spec ask([lasp_sync:name()], t()) -> {asked, id(), t()} | waiting.
ask(_Children, #questions{open = #open{from = self, age = Age}}) when Age < ?PATIENCE ->
    waiting;
ask(Children, #questions{self = Self, asked = Asked} = Q) ->
    Id = {Self, Asked + 1},
    Open = #open{id = Id, from = self, waiting = ordsets:from_list(Children)},
    {asked, Id, Q#questions{asked = Asked + 1, open = Open}}.

%% @doc A question from the parent, to be handed on to these children. `first': of this asker, so
%% that this node must not be added to the answer; `again': to be answered with nothing at once.
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

%% @doc Adds to the open question what this node has to say, and looks whether it was the last one.
-spec contribute(lasp_aggregate:sums(), t()) -> {outcome(), t()}.
contribute(Sums, #questions{open = #open{sums = Before} = Open} = Q) ->
    settle(Q#questions{open = Open#open{sums = lasp_aggregate:add(Sums, Before)}}).

%% @doc A child's answer; one that is not waited for changes nothing.
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

%% @doc Waits for none but these neighbours any more.
-spec without([lasp_sync:name()], t()) -> {outcome(), t()}.
without(Links, #questions{open = #open{waiting = Waiting} = Open} = Q) ->
    case ordsets:intersection(Waiting, ordsets:from_list(Links)) of
        Waiting -> {pending, Q};
        Left -> settle(Q#questions{open = Open#open{waiting = Left}})
    end;
without(_Links, Q) ->
    {pending, Q}.

%% @doc An interval has passed.
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
