%%% @doc A term in a file, for a process that must find it again after a restart.
%%%
%%% It is replaced by a rename, so that a process killed at any moment leaves either the previous or
%%% the new term. An unreadable or damaged file counts as none.
%%%
%%% == Storage ==
%%% What a process could not record it must not show to others, so a file must not return to an
%%% earlier state. In memory it cannot: a crash of the machine ends file and pod together, and
%%% nothing is flushed. On a disk that outlives the pod a crash could restore an earlier file, so
%%% with {@link use_disk/0} file and directory are flushed before `save/2' returns.
-module(partisan_record).

-export([use_disk/0]).
-export([load/1]).
-export([save/2]).

-include_lib("kernel/include/logger.hrl").

%% @doc Flushes all records from now on.
-spec use_disk() -> ok.
use_disk() ->
    persistent_term:put({?MODULE, on_disk}, true).

%% @doc Reads the term.
-spec load(file:filename()) -> none | {ok, term()}.
load(File) ->
    case file:read_file(File) of
        {ok, Bytes} ->
            decode(File, Bytes);
        {error, enoent} ->
            none;
        {error, Reason} ->
            ?LOG_WARNING(#{event => record_unreadable, file => File, reason => Reason}),
            none
    end.

%% @doc Replaces the term. The caller should crash on an error, since what it could not record it
%% must not show to others.
-spec save(file:filename(), term()) -> ok | {error, file:posix()}.
save(File, Term) ->
    Temporary = File ++ ".new",
    OnDisk = persistent_term:get({?MODULE, on_disk}, false),
    Steps =
        [fun() -> file:write_file(Temporary, encode(Term), [raw]) end] ++
            [fun() -> flush(Temporary, [read, write, raw]) end || OnDisk] ++
            [fun() -> file:rename(Temporary, File) end] ++
            [fun() -> flush(filename:dirname(File), [read, raw, directory]) end || OnDisk],
    in_order(Steps).

%% Internals.

in_order([Step | Steps]) ->
    case Step() of
        ok -> in_order(Steps);
        {error, _} = Error -> Error
    end;
in_order([]) ->
    ok.

flush(Path, Modes) ->
    case file:open(Path, Modes) of
        {ok, Device} ->
            Flushed = file:sync(Device),
            _ = file:close(Device),
            Flushed;
        {error, _} = Error ->
            Error
    end.

encode(Term) ->
    Bytes = term_to_binary(Term),
    [erlang:md5(Bytes), Bytes].

decode(File, <<Digest:16/binary, Bytes/binary>>) ->
    case erlang:md5(Bytes) =:= Digest andalso partisan_term:decode(Bytes) of
        {ok, _} = Decoded -> Decoded;
        _ -> damaged(File)
    end;
decode(File, _) ->
    damaged(File).

damaged(File) ->
    ?LOG_WARNING(#{event => record_damaged, file => File}),
    none.
