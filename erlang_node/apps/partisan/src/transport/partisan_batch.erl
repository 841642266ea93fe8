%%% @doc A lane's outgoing batch: messages in order, taken many at a time.
%%%
%%% A message of a monotonic channel stays in its slot until taken, so that a newer one can replace
%%% it.
%%%
%%% Small frames are copied into pieces at once: a lane with a busy port collects thousands of them,
%%% and the garbage collector would visit all these terms repeatedly. A port hands at most sixteen
%%% pieces to the kernel between two events; next to that a copy of a few kilobytes is nothing.
%%% Large frames are not copied, and huge ones are written in slices: while a port copies megabytes,
%%% at either end, messages of other channels wait for a processor.
-module(partisan_batch).

-export([new/0]).
-export([add/2]).
-export([add_ping/1]).
-export([is_empty/1]).
-export([is_full/1]).
-export([take/2]).
-export([rewind/1]).

%% Bytes that make a write.
-define(WRITE_BYTES, 262144).
%% Larger messages are written in slices of this size. Each slice adds one event and one turn of the
%% lane; writing a megabyte keeps a port busy for some hundred microseconds.
-define(SLICE_BYTES, 1048576).
%% From this size on a frame is not copied.
-define(LARGE, 8192).
%% Bytes of small frames that make a piece.
-define(PIECE_BYTES, 16384).

%% Consecutive messages, no longer in slots.
-record(part, {
    % When the oldest of them was sent.
    since :: integer(),
    messages = 1 :: pos_integer(),
    bytes :: pos_integer(),
    data :: iodata(),
    % Credit due to the account: messages and bytes.
    owed :: non_neg_integer(),
    charged :: non_neg_integer()
}).

-record(sliced, {
    message :: #part{},
    left :: [binary(), ...]
}).

-record(batch, {
    % A heartbeat goes before all that waits.
    ping = false :: boolean(),
    % A message of which some slices have been taken.
    sliced = none :: none | #sliced{},
    % In order.
    front = [] :: [part()],
    % Newest first.
    back = [] :: [part()],
    % Small frames to be joined into a piece, newest first.
    young = none :: none | #part{data :: [iodata()]},
    % Of all parts.
    bytes = 0 :: non_neg_integer()
}).

%% Taken so far, newest first.
-record(taken, {
    parts = [] :: [#part{}],
    bytes = 0 :: non_neg_integer()
}).

-opaque t() :: #batch{}.
%% `settled': the account has already been credited.
-type item() ::
    {Since :: integer(), partisan_frame:t()}
    | {settled, Since :: integer(), partisan_frame:t()}
    | {slot, partisan_lane:slot()}.
%% The contents of one write. A message that replaced another in its slot was charged for that one.
-type write() :: #{
    messages := non_neg_integer(),
    bytes := non_neg_integer(),
    % Credit due to the account: messages and bytes.
    owed := non_neg_integer(),
    charged := non_neg_integer(),
    % When the oldest of its messages was sent.
    since := none | integer()
}.
-type part() :: #part{} | {slot, partisan_lane:slot()}.
-export_type([t/0, item/0, write/0]).

%% @doc An empty batch.
-spec new() -> t().
new() ->
    #batch{}.

%% @doc Appends a message.
-spec add(item(), t()) -> t().
add({slot, _} = Token, Batch) ->
    #batch{back = Back} = Closed = close(Batch),
    Closed#batch{back = [Token | Back]};
add({settled, Since, Frame}, Batch) ->
    add_part((part(Since, Frame))#part{owed = 0, charged = 0}, Batch);
add({Since, Frame}, Batch) ->
    add_part(part(Since, Frame), Batch).

%% @doc Asks for a heartbeat in the next write.
-spec add_ping(t()) -> t().
add_ping(Batch) ->
    Batch#batch{ping = true}.

%% @doc Whether there is nothing to write.
-spec is_empty(t()) -> boolean().
is_empty(#batch{ping = Ping, sliced = Sliced, front = Front, back = Back, young = Young}) ->
    Front =:= [] andalso Back =:= [] andalso Young =:= none andalso Sliced =:= none andalso
        not Ping.

%% @doc Whether there is enough for a write.
-spec is_full(t()) -> boolean().
is_full(#batch{sliced = Sliced, bytes = Bytes}) ->
    Sliced =/= none orelse Bytes >= ?WRITE_BYTES.

%% @doc The next write of a non-empty batch.
-spec take(t(), partisan_lane:t()) -> {iodata(), write(), t()}.
take(#batch{sliced = #sliced{message = Message, left = Left}} = Batch, _Lane) ->
    slice(Message, split(?SLICE_BYTES, Left, []), Batch);
take(#batch{ping = true} = Batch, _Lane) ->
    {_Bytes, Ping} = partisan_frame:ping(),
    {Ping, nothing(), Batch#batch{ping = false}};
take(#batch{front = []} = Batch, Lane) ->
    #batch{back = Back} = Closed = close(Batch),
    take(lists:reverse(Back), Lane, #taken{}, Closed#batch{back = []});
take(#batch{front = Front} = Batch, Lane) ->
    take(Front, Lane, #taken{}, Batch).

%% @doc Restores a partly taken message after the connection was lost: it is sent again, whole.
-spec rewind(t()) -> t().
rewind(#batch{sliced = none} = Batch) ->
    Batch;
rewind(#batch{sliced = #sliced{message = Message}, front = Front, bytes = Sum} = Batch) ->
    #part{bytes = Bytes} = Message,
    Batch#batch{sliced = none, front = [Message | Front], bytes = Sum + Bytes}.

%% Internals.

part(Since, {Bytes, Frame}) ->
    #part{since = Since, bytes = Bytes, data = Frame, owed = 1, charged = Bytes}.

add_part(#part{bytes = Bytes} = Part, #batch{bytes = Sum} = Batch) ->
    added(Part, Batch#batch{bytes = Sum + Bytes}).

added(#part{bytes = Bytes} = Large, Batch) when Bytes >= ?LARGE ->
    #batch{back = Back} = Closed = close(Batch),
    Closed#batch{back = [Large | Back]};
added(#part{data = Frame} = First, #batch{young = none} = Batch) ->
    Batch#batch{young = First#part{data = [Frame]}};
added(#part{data = Frame} = Next, #batch{young = #part{data = Frames} = Young} = Batch) ->
    #part{bytes = Bytes} = Both = both(Young, Next, [Frame | Frames]),
    Grown = Batch#batch{young = Both},
    case Bytes >= ?PIECE_BYTES of
        true -> close(Grown);
        false -> Grown
    end.

%% Joins two parts.
both(Older, Newer, Data) ->
    #part{
        since = Older#part.since,
        messages = Older#part.messages + Newer#part.messages,
        bytes = Older#part.bytes + Newer#part.bytes,
        data = Data,
        owed = Older#part.owed + Newer#part.owed,
        charged = Older#part.charged + Newer#part.charged
    }.

%% Turns the small frames into a piece.
close(#batch{young = none} = Batch) ->
    Batch;
close(#batch{young = #part{data = Frames} = Young, back = Back} = Batch) ->
    Batch#batch{young = none, back = [Young#part{data = one_piece(lists:reverse(Frames))} | Back]}.

one_piece([Frame]) -> Frame;
one_piece(Frames) -> iolist_to_binary(Frames).

nothing() ->
    #{messages => 0, bytes => 0, owed => 0, charged => 0, since => none}.

%% A sliced message counts once its last slice is written.
slice(#part{since = Since, owed = Owed, charged = Charged}, {Slice, Bytes, []}, Batch) ->
    Write = #{
        messages => 1,
        bytes => Bytes,
        owed => Owed,
        charged => Charged,
        since => Since
    },
    {Slice, Write, Batch#batch{sliced = none}};
slice(Message, {Slice, Bytes, Left}, Batch) ->
    Write = (nothing())#{bytes := Bytes},
    {Slice, Write, Batch#batch{sliced = #sliced{message = Message, left = Left}}}.

split(Room, [Part | Parts], Slice) when byte_size(Part) =< Room ->
    split(Room - byte_size(Part), Parts, [Part | Slice]);
split(Room, [Part | Parts], Slice) when Room > 0 ->
    <<Now:Room/binary, Later/binary>> = Part,
    split(0, [Later | Parts], [Now | Slice]);
split(Room, Parts, Slice) ->
    {lists:reverse(Slice), ?SLICE_BYTES - Room, Parts}.

%% Takes as many messages as make a write; a huge one makes several of its own.
take([{slot, Slot} | Left], Lane, #taken{bytes = Bytes} = Taken, #batch{bytes = Sum} = Batch) when
    Bytes < ?WRITE_BYTES
->
    case partisan_lane:empty_slot(Lane, Slot) of
        {Since, {Size, _} = Frame, Charged} ->
            Part = (part(Since, Frame))#part{owed = min(1, Charged), charged = Charged},
            take([Part | Left], Lane, Taken, Batch#batch{bytes = Sum + Size});
        empty ->
            take(Left, Lane, Taken, Batch)
    end;
take([#part{bytes = Huge} = Part | Left], Lane, #taken{parts = []}, Batch) when
    Huge > ?SLICE_BYTES
->
    Sliced = #sliced{message = Part, left = erlang:iolist_to_iovec(Part#part.data)},
    take(Batch#batch{sliced = Sliced, front = Left, bytes = Batch#batch.bytes - Huge}, Lane);
take([#part{bytes = Size} = Part | Left], Lane, #taken{bytes = Bytes} = Taken, Batch) when
    Size =< ?SLICE_BYTES, Bytes < ?WRITE_BYTES
->
    Parts = [Part | Taken#taken.parts],
    take(Left, Lane, Taken#taken{parts = Parts, bytes = Bytes + Size}, Batch);
take(Left, _Lane, #taken{parts = []}, Batch) ->
    {[], nothing(), Batch#batch{front = Left}};
take(Left, _Lane, #taken{parts = Parts, bytes = Bytes}, #batch{bytes = Sum} = Batch) ->
    Write = #{
        messages => sum(#part.messages, Parts),
        bytes => Bytes,
        owed => sum(#part.owed, Parts),
        charged => sum(#part.charged, Parts),
        since => (lists:last(Parts))#part.since
    },
    {joined(Parts, [], []), Write, Batch#batch{front = Left, bytes = Sum - Bytes}}.

sum(Field, Parts) ->
    lists:foldl(fun(Part, Sum) -> element(Field, Part) + Sum end, 0, Parts).

%% From newest to oldest: a run of small parts, and what comes after it.
joined([#part{bytes = Bytes, data = Data} | Older], Run, After) when Bytes < ?LARGE ->
    joined(Older, [Data | Run], After);
joined([#part{data = Data} | Older], Run, After) ->
    joined(Older, [], [Data | before(Run, After)]);
joined([], Run, After) ->
    before(Run, After).

before([], After) -> After;
before(Run, After) -> [one_piece(Run) | After].
