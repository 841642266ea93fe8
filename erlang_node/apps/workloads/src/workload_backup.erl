%%% @doc A backup of a workload's state: a file of text that carries its own checksum.
%%%
%%% ```
%%% partisan-backup 1
%%% cluster ads
%%% namespace staging
%%% workload adcounter
%%% taken 2026-11-21T18:36:30Z
%%% parameter ads 1
%%% parameter impressions 640
%%%
%%% ads-0/1795286121555265/0 20
%%% ads-1/1795286121555271/0 17
%%% sha256 9f31...                              of everything above
%%% '''
%%%
%%% The state is a map of keys to counts, in the order of the keys; two states join by the larger
%%% count of each key. A workload that can write its state so can be backed up: counters, sets (each
%%% element a count of 1), registers whose order is a number.
%%%
%%% == Reading ==
%%% A file may come from anywhere. Its size, format and checksum are checked before anything else is
%%% read; every line is matched against what it may be, and nothing read becomes an atom. The
%%% checksum detects damage, not forgery: a writer of the file may write any counts.
-module(workload_backup).

-export([encode/1]).
-export([decode/1]).
-export([entries/1]).
-export([text/1]).

-type key() :: binary().
-type entries() :: #{key() => pos_integer()}.
%% `taken': seconds since 1970. `parameters': of the workload, as `text/1' writes them.
-type t() :: #{
    cluster := binary(),
    namespace := binary(),
    workload := binary(),
    taken := integer(),
    parameters := #{binary() => binary()},
    entries := entries()
}.

-export_type([t/0, key/0, entries/0]).

-define(MAGIC, "partisan-backup ").
-define(VERSION, <<"1">>).
%% Of a ConfigMap or Secret.
-define(MAX_BYTES, 1048576).
-define(TRAILER, "sha256 ").
-define(TRAILER_BYTES, 72).
-define(MAX_KEY_BYTES, 256).
-define(MAX_COUNT, 16#7FFFFFFFFFFFFFFF).
-define(MAX_DIGITS, 19).

%% @doc Writes a backup.
-spec encode(t()) -> binary().
encode(#{parameters := Parameters, entries := Entries, taken := Taken} = Backup) ->
    Header = [
        [?MAGIC, ?VERSION, $\n],
        [[Name, $\s, maps:get(Key, Backup), $\n] || {Name, Key} <- names()],
        ["taken ", calendar:system_time_to_rfc3339(Taken, [{offset, "Z"}]), $\n],
        [["parameter ", N, $\s, V, $\n] || {N, V} <- lists:sort(maps:to_list(Parameters))]
    ],
    Lines = [[K, $\s, integer_to_binary(C), $\n] || {K, C} <- lists:sort(maps:to_list(Entries))],
    Content = iolist_to_binary([Header, $\n, Lines]),
    <<Content/binary, ?TRAILER, (checksum(Content))/binary, $\n>>.

%% @doc Reads a backup. The error completes a sentence about the file.
-spec decode(binary()) -> {ok, t()} | {error, iodata()}.
decode(Bytes) when byte_size(Bytes) > ?MAX_BYTES ->
    {error, "has more than 1 MiB, which no ConfigMap or Secret holds"};
decode(Bytes) ->
    try
        ok = check_format(Bytes),
        Content = intact(Bytes),
        {ok, parse(Content)}
    catch
        throw:{unusable, Text} -> {error, Text}
    end.

%% @doc The entries of a file that `decode/1' accepts.
-spec entries(binary()) -> entries().
entries(Bytes) ->
    {ok, #{entries := Entries}} = decode(Bytes),
    Entries.

%% @doc A parameter's value as it stands in a backup: printable, without spaces.
-spec text(integer() | atom() | binary()) -> binary().
text(Value) when is_integer(Value) -> integer_to_binary(Value);
text(Value) when is_atom(Value) -> text(atom_to_binary(Value));
text(Value) when is_binary(Value) -> << <<(escaped(Byte))/binary>> || <<Byte>> <= Value >>.

%% Internals.

names() ->
    [{"cluster", cluster}, {"namespace", namespace}, {"workload", workload}].

escaped(Byte) when Byte > $\s, Byte < 127, Byte =/= $% -> <<Byte>>;
escaped(Byte) -> list_to_binary(io_lib:format("%~2.16.0B", [Byte])).

checksum(Content) ->
    string:lowercase(binary:encode_hex(crypto:hash(sha256, Content))).

-spec unusable(iodata()) -> no_return().
unusable(Text) ->
    throw({unusable, Text}).

%% Internals: size, format and checksum.

check_format(<<?MAGIC, Rest/binary>>) ->
    case binary:split(Rest, <<"\n">>) of
        [?VERSION, _] ->
            ok;
        [Version, _] ->
            is_count(Version) orelse unusable("is not a backup: its first line is wrong"),
            unusable(["has the format ", Version, ", of a later release: upgrade the image"]);
        [_] ->
            unusable("is truncated: it ends in its first line")
    end;
check_format(<<>>) ->
    unusable("is empty");
check_format(_) ->
    unusable("is not a backup: it does not begin with partisan-backup").

intact(Bytes) ->
    Size = byte_size(Bytes) - ?TRAILER_BYTES,
    case Bytes of
        <<Content:Size/binary, ?TRAILER, Sum:64/binary, "\n">> ->
            Sum =:= checksum(Content) orelse
                unusable("is corrupt: its content does not match its checksum"),
            is_printable(Content) orelse unusable("is malformed: it has bytes that are no text"),
            Content;
        _ ->
            unusable("is truncated: its last line is no checksum")
    end.

is_printable(Content) ->
    << <<Byte>> || <<Byte>> <= Content, Byte =:= $\n orelse (Byte >= $\s andalso Byte < 127) >> =:=
        Content.

%% Internals: lines.

parse(Content) ->
    case binary:split(Content, <<"\n\n">>) of
        [Header, Lines] ->
            [_Format | Fields] = lines(<<Header/binary, "\n">>),
            (header(names(), Fields, #{}))#{entries => entries(lines(Lines), <<>>, [])};
        [_] ->
            unusable("is malformed: no empty line ends its header")
    end.

lines(Text) ->
    Lines = binary:split(Text, <<"\n">>, [global]),
    lists:last(Lines) =:= <<>> orelse unusable("is malformed: its last line does not end"),
    lists:droplast(Lines).

header([{Name, Key} | Names], [Line | Lines], Found) ->
    header(Names, Lines, Found#{Key => field(Name, Line)});
header([], [Line | Lines], Found) ->
    Found#{taken => time(field("taken", Line)), parameters => parameters(Lines, #{})};
header(_, [], _Found) ->
    unusable("is malformed: its header lacks a line").

field(Name, Line) ->
    Prefix = iolist_to_binary([Name, $\s]),
    case binary:split(Line, Prefix) of
        [<<>>, Value] when Value =/= <<>> -> Value;
        _ -> unusable(["is malformed: a line of its header is not that of ", Name])
    end.

time(Text) ->
    try
        calendar:rfc3339_to_system_time(binary_to_list(Text))
    catch
        error:_ -> unusable("is malformed: its time is not of RFC 3339")
    end.

parameters([Line | Lines], Found) ->
    case binary:split(field("parameter", Line), <<" ">>) of
        [Name, Value] when not is_map_key(Name, Found) ->
            parameters(Lines, Found#{Name => Value});
        _ ->
            unusable("is malformed: a parameter has no value, or two")
    end;
parameters([], Found) ->
    Found.

%% In strictly ascending order, so that a state has one form.
entries([Line | Lines], Before, Found) ->
    case binary:split(Line, <<" ">>) of
        [Key, Count] when Key > Before, byte_size(Key) =< ?MAX_KEY_BYTES ->
            is_count(Count) orelse unusable(["is malformed: no count follows ", Key]),
            entries(Lines, Key, [{Key, binary_to_integer(Count)} | Found]);
        _ ->
            unusable(["is malformed: an entry is out of order or too long, after ", Before])
    end;
entries([], _Before, Found) ->
    maps:from_list(Found).

is_count(<<First, _/binary>> = Digits) when First > $0, byte_size(Digits) =< ?MAX_DIGITS ->
    is_digits(Digits) andalso binary_to_integer(Digits) =< ?MAX_COUNT;
is_count(_) ->
    false.

is_digits(Digits) ->
    << <<Byte>> || <<Byte>> <= Digits, Byte >= $0, Byte =< $9 >> =:= Digits.
