%%% @doc What a lane's connection is to write next: messages in their order, taken many at a time.
%%%
%%% A message of a monotonic channel stays in its slot until it is taken, so that a newer one can
%%% still take its place.
%%%
%%% Small frames are copied into one binary. The port hands no more than sixteen pieces to the
%%% kernel at a time, and waits for the next event before it hands over more: a copy of a few
%%% kilobytes is nothing beside that. Large ones stay as they are.
-module(partisan_batch).

-export([new/0]).
-export([add/2]).
-export([add_ping/1]).
-export([is_empty/1]).
-export([is_full/1]).
-export([take/2]).

%% What is written at once, unless a single message is larger: a bound, too, on what the port holds
%% beyond its watermark.
-define(WRITE_BYTES, 131072).
%% A frame of this size is no longer copied.
-define(LARGE, 8192).

-record(batch, {
    % A proof of life goes before all that waits.
    ping = false :: boolean(),
    % In order.
    front = [] :: [item()],
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
    charged = 0 :: non_neg_integer(),
    % Of the bytes, those that were not in slots.
    known = 0 :: non_neg_integer(),
    since = none :: none | integer()
}).

-opaque t() :: #batch{}.
-type item() ::
    {Since :: integer(), partisan_frame:t()}
    | {slot, partisan_lane:slot()}.
%% What one write consists of. A message that took another's slot was charged for that one.
-type write() :: #{
    messages := non_neg_integer(),
    bytes := non_neg_integer(),
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
add({_Since, {Bytes, _}} = Item, #batch{back = Back, bytes = Sum} = Batch) ->
    Batch#batch{back = [Item | Back], bytes = Sum + Bytes}.

%% @doc Asks for a heartbeat in the next write.
-spec add_ping(t()) -> t().
add_ping(Batch) ->
    Batch#batch{ping = true}.

-spec is_empty(t()) -> boolean().
is_empty(#batch{ping = Ping, front = Front, back = Back}) ->
    Front =:= [] andalso Back =:= [] andalso not Ping.

%% @doc Is there enough for a write, whatever else may come?
-spec is_full(t()) -> boolean().
is_full(#batch{bytes = Bytes}) ->
    Bytes >= ?WRITE_BYTES.

%% @doc The next write, of a batch that is not empty.
-spec take(t(), partisan_lane:t()) -> {iodata(), write(), t()}.
take(#batch{ping = true} = Batch, _Lane) ->
    {_Bytes, Ping} = partisan_frame:ping(),
    Write = #{messages => 0, bytes => 0, charged => 0, since => none},
    {Ping, Write, Batch#batch{ping = false}};
take(#batch{front = [], back = Back} = Batch, Lane) ->
    take(Batch#batch{front = lists:reverse(Back), back = []}, Lane);
take(#batch{front = Front, bytes = Bytes} = Batch, Lane) ->
    {Taken, Left} = take(Front, Lane, #taken{}),
    #taken{frames = Frames, messages = Messages, bytes = Size, since = Since} = Taken,
    Write = #{
        messages => Messages, bytes => Size, charged => Taken#taken.charged, since => Since
    },
    {joined(Frames, [], []), Write, Batch#batch{front = Left, bytes = Bytes - Taken#taken.known}}.

%% Internals.

take([Item | Left], Lane, #taken{bytes = Bytes} = Taken) when Bytes < ?WRITE_BYTES ->
    take(Left, Lane, take_one(Item, Lane, Taken));
take(Left, _Lane, Taken) ->
    {Taken, Left}.

take_one({slot, Slot}, Lane, Taken) ->
    {Since, Frame, Charged} = partisan_lane:empty_slot(Lane, Slot),
    with(Since, Frame, Charged, Taken);
take_one({Since, {Bytes, _} = Frame}, _Lane, #taken{known = Known} = Taken) ->
    with(Since, Frame, Bytes, Taken#taken{known = Known + Bytes}).

with(Since, Frame, Charge, #taken{since = none} = Taken) ->
    with(Since, Frame, Charge, Taken#taken{since = Since});
with(_Since, {Size, _} = Frame, Charge, Taken) ->
    #taken{frames = Frames, messages = Messages, bytes = Bytes, charged = Charged} = Taken,
    Taken#taken{
        frames = [Frame | Frames],
        messages = Messages + 1,
        bytes = Bytes + Size,
        charged = Charged + Charge
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
