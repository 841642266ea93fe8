%%% @doc What a lane's connection is to write next: messages in their order, taken many at a time.
%%%
%%% A message of a monotonic channel stays in its slot until it is taken, so that a newer one can
%%% still take its place.
%%%
%%% Small frames are copied into one binary. The port hands no more than sixteen pieces to the
%%% kernel at a time, and waits for the next event before it hands over more: a copy of a few
%%% kilobytes is nothing beside that. Large ones stay as they are, and are written a slice at a
%%% time: while a port copies megabytes, and while the receiver's copies as much in one go, the
%%% messages of other channels wait for a processor.
-module(partisan_batch).

-export([new/0]).
-export([add/2]).
-export([add_ping/1]).
-export([is_empty/1]).
-export([is_full/1]).
-export([take/2]).
-export([rewind/1]).

%% What makes a write.
-define(WRITE_BYTES, 131072).
%% A message that is larger is written in slices. Each costs what another event and another turn of
%% the lane cost, some microseconds; a port that writes a megabyte is busy for some hundred.
-define(HUGE, 1048576).
-define(SLICE_BYTES, 262144).
%% A frame of this size is no longer copied.
-define(LARGE, 8192).

%% A message that is to be sent, no longer in a slot.
-record(opened, {
    since :: integer(),
    frame :: partisan_frame:t(),
    charged :: non_neg_integer(),
    % What the batch has counted it for: nothing while it was in a slot.
    known :: non_neg_integer()
}).

-record(sliced, {
    message :: #opened{},
    left :: [binary(), ...]
}).

-record(batch, {
    % A proof of life goes before all that waits.
    ping = false :: boolean(),
    % A message of which a part has been taken.
    sliced = none :: none | #sliced{},
    % In order.
    front = [] :: [item() | #opened{}],
    % Newest first.
    back = [] :: [item()],
    % Of the frames that are not in slots.
    bytes = 0 :: non_neg_integer()
}).

%% What has been taken so far.
-record(taken, {
    % Newest first.
    frames = [] :: [partisan_frame:t()],
    messages = 0 :: non_neg_integer(),
    bytes = 0 :: non_neg_integer(),
    owed = 0 :: non_neg_integer(),
    charged = 0 :: non_neg_integer(),
    % Of the bytes, those that were not in slots.
    known = 0 :: non_neg_integer(),
    since = none :: none | integer()
}).

-opaque t() :: #batch{}.
%% `settled': the account has been credited for it already.
-type item() ::
    {Since :: integer(), partisan_frame:t()}
    | {settled, Since :: integer(), partisan_frame:t()}
    | {slot, partisan_lane:slot()}.
%% What one write consists of. A message that took another's slot was charged for that one.
-type write() :: #{
    messages := non_neg_integer(),
    bytes := non_neg_integer(),
    % What the account is to be credited: for how many messages, and how much.
    owed := non_neg_integer(),
    charged := non_neg_integer(),
    % When the oldest of its messages was sent.
    since := none | integer()
}.
-export_type([t/0, item/0, write/0]).

-spec new() -> t().
new() ->
    #batch{}.

%% @doc Adds a message after all others.
-spec add(item(), t()) -> t().
add({slot, _} = Item, #batch{back = Back} = Batch) ->
    Batch#batch{back = [Item | Back]};
add({_Since, {Bytes, _}} = Item, Batch) ->
    add(Item, Bytes, Batch);
add({settled, _Since, {Bytes, _}} = Item, Batch) ->
    add(Item, Bytes, Batch).

%% @doc Asks for a heartbeat in the next write.
-spec add_ping(t()) -> t().
add_ping(Batch) ->
    Batch#batch{ping = true}.

-spec is_empty(t()) -> boolean().
is_empty(#batch{ping = Ping, sliced = Sliced, front = Front, back = Back}) ->
    Front =:= [] andalso Back =:= [] andalso Sliced =:= none andalso not Ping.

%% @doc Is there enough for a write, whatever else may come?
-spec is_full(t()) -> boolean().
is_full(#batch{sliced = Sliced, bytes = Bytes}) ->
    Sliced =/= none orelse Bytes >= ?WRITE_BYTES.

%% @doc The next write, of a batch that is not empty.
-spec take(t(), partisan_lane:t()) -> {iodata(), write(), t()}.
take(#batch{sliced = #sliced{message = Message, left = Left}} = Batch, _Lane) ->
    slice(Message, split(?SLICE_BYTES, Left, []), Batch);
take(#batch{ping = true} = Batch, _Lane) ->
    {_Bytes, Ping} = partisan_frame:ping(),
    {Ping, nothing(), Batch#batch{ping = false}};
take(#batch{front = [], back = Back} = Batch, Lane) ->
    take(Batch#batch{front = lists:reverse(Back), back = []}, Lane);
take(#batch{front = Front, bytes = Bytes} = Batch, Lane) ->
    case take(Front, Lane, #taken{}) of
        {#taken{messages = 0}, [#opened{frame = {_, Frame}, known = Known} = Large | Left]} ->
            Sliced = #sliced{message = Large, left = erlang:iolist_to_iovec(Frame)},
            take(Batch#batch{sliced = Sliced, front = Left, bytes = Bytes - Known}, Lane);
        {#taken{messages = 0}, []} ->
            {[], nothing(), Batch#batch{front = [], bytes = Bytes}};
        {#taken{frames = Frames, known = Known} = Taken, Left} ->
            Write = #{
                messages => Taken#taken.messages,
                bytes => Taken#taken.bytes,
                owed => Taken#taken.owed,
                charged => Taken#taken.charged,
                since => Taken#taken.since
            },
            {joined(Frames, [], []), Write, Batch#batch{front = Left, bytes = Bytes - Known}}
    end.

%% @doc The connection is lost: a message of which only a part was taken is to be sent again, whole.
-spec rewind(t()) -> t().
rewind(#batch{sliced = none} = Batch) ->
    Batch;
rewind(#batch{sliced = #sliced{message = Message}, front = Front, bytes = Bytes} = Batch) ->
    #opened{known = Known} = Message,
    Batch#batch{sliced = none, front = [Message | Front], bytes = Bytes + Known}.

%% Internals.

add(Item, Bytes, #batch{back = Back, bytes = Sum} = Batch) ->
    Batch#batch{back = [Item | Back], bytes = Sum + Bytes}.

nothing() ->
    #{messages => 0, bytes => 0, owed => 0, charged => 0, since => none}.

%% The message counts when its last slice is written.
slice(#opened{since = Since, charged = Charged}, {Slice, Bytes, []}, Batch) ->
    Write = #{
        messages => 1,
        bytes => Bytes,
        owed => owed(Charged),
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

%% As many messages as make a write; a large one makes several, by itself.
take([Item | Left], Lane, #taken{bytes = Bytes} = Taken) when Bytes < ?WRITE_BYTES ->
    case opened(Item, Lane) of
        empty -> take(Left, Lane, Taken);
        #opened{frame = {Size, _}} = Large when Size > ?HUGE -> {Taken, [Large | Left]};
        Message -> take(Left, Lane, with(Message, Taken))
    end;
take(Left, _Lane, Taken) ->
    {Taken, Left}.

opened({slot, Slot}, Lane) ->
    case partisan_lane:empty_slot(Lane, Slot) of
        {Since, Frame, Charged} ->
            #opened{since = Since, frame = Frame, charged = Charged, known = 0};
        empty ->
            empty
    end;
opened({Since, {Bytes, _} = Frame}, _Lane) ->
    #opened{since = Since, frame = Frame, charged = Bytes, known = Bytes};
opened({settled, Since, {Bytes, _} = Frame}, _Lane) ->
    #opened{since = Since, frame = Frame, charged = 0, known = Bytes};
opened(#opened{} = Message, _Lane) ->
    Message.

owed(0) -> 0;
owed(_Charged) -> 1.

with(#opened{since = Since} = Message, #taken{since = none} = Taken) ->
    with(Message, Taken#taken{since = Since});
with(#opened{frame = {Size, _} = Frame, charged = Charge, known = Known}, Taken) ->
    Taken#taken{
        frames = [Frame | Taken#taken.frames],
        messages = Taken#taken.messages + 1,
        bytes = Taken#taken.bytes + Size,
        owed = Taken#taken.owed + owed(Charge),
        charged = Taken#taken.charged + Charge,
        known = Taken#taken.known + Known
    }.

%% From the newest frame to the oldest: a run of small ones, and what comes after it.
joined([{Bytes, Frame} | Older], Run, After) when Bytes < ?LARGE ->
    joined(Older, [Frame | Run], After);
joined([{_Bytes, Frame} | Older], Run, After) ->
    joined(Older, [], [Frame | one_piece(Run, After)]);
joined([], Run, After) ->
    one_piece(Run, After).

one_piece([], After) -> After;
one_piece([Frame], After) -> [Frame | After];
one_piece(Run, After) -> [iolist_to_binary(Run) | After].
