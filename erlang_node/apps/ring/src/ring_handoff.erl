%%% @doc The transfer of a replica to its next holder: a snapshot, what was written meanwhile, and a
%%% seal.
%%%
%%% The receiver pulls chunks by number. It asks for chunk `N + 1' when it has merged chunk `N', so
%%% a pull acknowledges all chunks before; one whose answer was lost is repeated, and gets the same
%%% chunk again. A transfer therefore resumes where it was after any interruption, and a duplicated
%%% chunk or pull has no effect.
%%%
%%% The sender keeps serving. Items that change after the snapshot are *dirty* and are sent after
%%% it; an item that has become dirty before its turn is sent once. When all that is left fits in
%%% one chunk, this chunk is the last: from the moment at which it is made, the sender must serve no
%%% more, because what it accepted afterwards would be lost. The pull after it says that the
%%% receiver has everything; its answer is the *seal*, from which on the receiver may serve, and the
%%% sender never again. A sender that has not made the seal may forget the transfer and go on
%%% serving, for example because the receiver is lost.
%%%
%%% A transfer without a seal is used to rebuild a lost replica from a copy that stays: it
%%% is complete with the last chunk.
-module(ring_handoff).

-export([sender/1]).
-export([changed/2]).
-export([pull/3]).
-export([is_paused/1]).
-export([is_sealed/1]).
-export([receiver/0]).
-export([wanted/1]).
-export([take/3]).
-export([is_complete/1]).

-type item() :: {Key :: term(), Item :: term()}.
-type serial() :: pos_integer().
-type kind() :: more | last | seal.
-type chunk() :: {kind(), [item()]}.

-record(sender, {
    % The last chunk made; zero is none.
    number = 0 :: non_neg_integer(),
    chunk = {more, []} :: chunk(),
    snapshot :: [item()],
    dirty = #{} :: #{Key :: term() => Item :: term()}
}).

-record(receiver, {merged = 0 :: non_neg_integer(), complete = false :: boolean()}).

-opaque sender() :: #sender{}.
-opaque receiver() :: #receiver{}.

-export_type([sender/0, receiver/0, item/0, serial/0, kind/0, chunk/0]).

%% A chunk ends with the item that brings it to one of these.
-define(ITEMS, 256).
-define(BYTES, 262144).

%% @doc The sender of these items.
-spec sender([item()]) -> sender().
sender(Items) ->
    #sender{snapshot = Items}.

%% @doc Items have changed, or are new. Not allowed after the last chunk.
-spec changed([item()], sender()) -> sender().
changed([], Sender) ->
    Sender;
changed(Items, #sender{chunk = {more, _}, dirty = Dirty} = Sender) ->
    Sender#sender{dirty = maps:merge(Dirty, maps:from_list(Items))}.

%% @doc Answers a pull of a chunk. `wait': all has been sent but the last chunk, and it is not time
%% for it (`MayEnd'); `none': the pull is an old one.
-spec pull(serial(), MayEnd :: boolean(), sender()) -> {chunk(), sender()} | wait | none.
pull(Number, _MayEnd, #sender{number = Number, chunk = Chunk} = Sender) ->
    {Chunk, Sender};
pull(Number, _MayEnd, #sender{number = Last, chunk = {last, _}} = Sender) when
    Number =:= Last + 1
->
    made(Number, {seal, []}, Sender);
pull(Number, MayEnd, #sender{number = Last, chunk = {more, _}} = Sender) when
    Number =:= Last + 1
->
    next(MayEnd, cut(Sender));
pull(_Number, _MayEnd, _Sender) ->
    none.

%% @doc Whether the last chunk has been made.
-spec is_paused(sender()) -> boolean().
is_paused(#sender{chunk = {Kind, _}}) ->
    Kind =/= more.

%% @doc Whether the seal has been made.
-spec is_sealed(sender()) -> boolean().
is_sealed(#sender{chunk = {Kind, _}}) ->
    Kind =:= seal.

%% @doc The receiver of a transfer that has not begun.
-spec receiver() -> receiver().
receiver() ->
    #receiver{}.

%% @doc The number of the next chunk to pull.
-spec wanted(receiver()) -> serial().
wanted(#receiver{merged = Merged}) ->
    Merged + 1.

%% @doc Takes the answer to a pull, the items of which are to be merged; `none' for a chunk that was
%% taken before.
-spec take(serial(), kind(), receiver()) -> {ok, receiver()} | none.
take(Number, Kind, #receiver{merged = Merged}) when Number =:= Merged + 1 ->
    {ok, #receiver{merged = Number, complete = Kind =/= more}};
take(_Number, _Kind, _Receiver) ->
    none.

%% @doc Whether the last chunk has been taken.
-spec is_complete(receiver()) -> boolean().
is_complete(#receiver{complete = Complete}) ->
    Complete.

%% Internals.

next(MayEnd, {Items, #sender{number = Last, snapshot = [], dirty = Dirty} = Sender}) when
    map_size(Dirty) =:= 0
->
    case {MayEnd, Items} of
        {true, _} -> made(Last + 1, {last, Items}, Sender);
        {false, []} -> wait;
        {false, _} -> made(Last + 1, {more, Items}, Sender)
    end;
next(_MayEnd, {Items, #sender{number = Last} = Sender}) ->
    made(Last + 1, {more, Items}, Sender).

made(Number, Chunk, Sender) ->
    {Chunk, Sender#sender{number = Number, chunk = Chunk}}.

cut(#sender{snapshot = Snapshot, dirty = Dirty} = Sender) ->
    {First, Later, Room} = cut(Snapshot, Dirty, {?ITEMS, ?BYTES}, []),
    {Second, Left, _} = cut(dirty(Later, Dirty), #{}, Room, []),
    Rest =
        case Later of
            [] -> maps:from_list(Left);
            _ -> Dirty
        end,
    {First ++ Second, Sender#sender{snapshot = Later, dirty = Rest}}.

%% Dirty items come after the whole snapshot, so that one that changes often is sent rarely.
dirty([], Dirty) -> lists:sort(maps:to_list(Dirty));
dirty(_, _) -> [].

cut([{Key, _} | Items], Dirty, Room, Cut) when is_map_key(Key, Dirty) ->
    cut(Items, Dirty, Room, Cut);
cut([Item | Items], Dirty, {Count, Bytes}, Cut) when Count > 0, Bytes > 0 ->
    cut(Items, Dirty, {Count - 1, Bytes - erlang:external_size(Item)}, [Item | Cut]);
cut(Items, _Dirty, Room, Cut) ->
    {lists:reverse(Cut), Items, Room}.
