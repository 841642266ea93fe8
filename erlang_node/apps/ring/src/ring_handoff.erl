%%% @doc The transfer of a replica to its next holder: a snapshot, what was written meanwhile, and a
%%% seal.
%%%
%%% The receiver pulls chunks by number. It asks for chunk `N + 1' when it has merged chunk `N', so
%%% a pull acknowledges all chunks before; one whose answer was lost is repeated, and gets the same
%%% chunk again. A transfer therefore resumes where it was after any interruption, and a duplicated
%%% chunk or pull has no effect.
%%%
%%% A number is of a *session*, which the sender chooses and never repeats: a sender that has
%%% forgotten a transfer begins another one, with another snapshot, and a pull or chunk of the
%%% previous one that is still under way must not count in it.
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

-export([sender/2]).
-export([changed/2]).
-export([pull/3]).
-export([is_first/1]).
-export([is_paused/1]).
-export([is_sealed/1]).
-export([receiver/0]).
-export([wanted/1]).
-export([take/3]).
-export([is_complete/1]).

-type item() :: {Key :: term(), Item :: term()}.
-type session() :: term().
%% The first pull is of no session yet.
-type serial() :: {session() | none, pos_integer()}.
-type kind() :: more | last | seal.
-type chunk() :: {serial(), kind(), [item()]}.

-record(sender, {
    session :: session(),
    % The last chunk made; zero is none.
    number = 0 :: non_neg_integer(),
    chunk = {more, []} :: {kind(), [item()]},
    snapshot :: [item()],
    dirty = #{} :: #{Key :: term() => Item :: term()}
}).

-record(receiver, {
    session = none :: session() | none,
    merged = 0 :: non_neg_integer(),
    complete = false :: boolean()
}).

-opaque sender() :: #sender{}.
-opaque receiver() :: #receiver{}.

-export_type([sender/0, receiver/0, session/0, item/0, serial/0, kind/0, chunk/0]).

%% A chunk ends with the item that brings it to one of these.
-define(ITEMS, 256).
-define(BYTES, 262144).

%% @doc The sender of these items, in a session that has never been.
-spec sender(session(), [item()]) -> sender().
sender(Session, Items) ->
    #sender{session = Session, snapshot = Items}.

%% @doc Items have changed, or are new. Not allowed after the last chunk.
-spec changed([item()], sender()) -> sender().
changed([], Sender) ->
    Sender;
changed(Items, #sender{chunk = {more, _}, dirty = Dirty} = Sender) ->
    Sender#sender{dirty = maps:merge(Dirty, maps:from_list(Items))}.

%% @doc Answers a pull of a chunk. `wait': all has been sent but the last chunk, and it is not time
%% for it (`MayEnd'); `again': the pull is of another session; `none': it is an old one.
-spec pull(serial(), MayEnd :: boolean(), sender()) -> {chunk(), sender()} | wait | again | none.
pull({none, 1}, MayEnd, #sender{session = Session, number = Last} = Sender) when Last =< 1 ->
    pull({Session, 1}, MayEnd, Sender);
pull({none, 1}, _MayEnd, #sender{chunk = {more, _}}) ->
    again;
pull({none, 1}, _MayEnd, _Sender) ->
    none;
pull({Session, Number}, MayEnd, #sender{session = Session} = Sender) ->
    pulled(Number, MayEnd, Sender);
pull(_Serial, _MayEnd, _Sender) ->
    again.

%% @doc Whether a pull may begin a session.
-spec is_first(serial()) -> boolean().
is_first(Serial) ->
    Serial =:= {none, 1}.

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
wanted(#receiver{session = Session, merged = Merged}) ->
    {Session, Merged + 1}.

%% @doc Takes the answer to a pull, the items of which are to be merged; `none' for a chunk that was
%% taken before, or is of another session.
-spec take(serial(), kind(), receiver()) -> {ok, receiver()} | none.
take({Session, Number}, Kind, #receiver{session = Own, merged = Merged}) when
    Number =:= Merged + 1, Own =:= Session orelse Own =:= none
->
    {ok, #receiver{session = Session, merged = Number, complete = Kind =/= more}};
take(_Serial, _Kind, _Receiver) ->
    none.

%% @doc Whether the last chunk has been taken.
-spec is_complete(receiver()) -> boolean().
is_complete(#receiver{complete = Complete}) ->
    Complete.

%% Internals.

pulled(Number, _MayEnd, #sender{number = Number} = Sender) ->
    {chunk(Sender), Sender};
pulled(Number, _MayEnd, #sender{number = Last, chunk = {last, _}} = Sender) when
    Number =:= Last + 1
->
    made(Number, {seal, []}, Sender);
pulled(Number, MayEnd, #sender{number = Last, chunk = {more, _}} = Sender) when
    Number =:= Last + 1
->
    next(MayEnd, cut(Sender));
pulled(_Number, _MayEnd, _Sender) ->
    none.

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
    Made = Sender#sender{number = Number, chunk = Chunk},
    {chunk(Made), Made}.

chunk(#sender{session = Session, number = Number, chunk = {Kind, Items}}) ->
    {{Session, Number}, Kind, Items}.

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
