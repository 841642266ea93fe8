%%% @doc The file in which a node keeps what it has counted itself.
%%%
%%% Written before a count is shown to anybody, replaced by a rename, so that a process killed at
%%% any moment leaves either the old or the new record. It is not flushed to a disk, and should not
%%% be on one: the directory is meant to be memory (`emptyDir' of medium Memory in a pod), which
%%% lives exactly as long as the pod. A container that restarts finds its record as it was last
%%% written; a machine that reboots finds none, and the node becomes a new actor. A disk could
%%% bring back an older record after a crash of the machine, and the same actor would count a
%%% second time what others have seen it count.
%%%
%%% A file that cannot be understood is worth nothing: as good as none, which is always safe.
-module(adcounter_journal).

-export([load/1]).
-export([save/2]).

-include_lib("kernel/include/logger.hrl").

-define(NAME, "adcounter.record").

%% @doc The record in the directory.
-spec load(file:filename()) -> none | adcounter_core:kept().
load(Directory) ->
    File = filename:join(Directory, ?NAME),
    case file:read_file(File) of
        {ok, Bytes} ->
            decode(File, Bytes);
        {error, enoent} ->
            none;
        {error, Reason} ->
            ?LOG_WARNING(#{event => record_unreadable, file => File, reason => Reason}),
            none
    end.

%% @doc Replace the record. An error is for the caller to crash on: a node that cannot write what it
%% counts must not count.
-spec save(file:filename(), adcounter_core:kept()) -> ok | {error, file:posix()}.
save(Directory, Record) ->
    File = filename:join(Directory, ?NAME),
    Temporary = File ++ ".new",
    case file:write_file(Temporary, encode(Record), [raw]) of
        ok -> file:rename(Temporary, File);
        {error, _} = Error -> Error
    end.

%% Internals.

encode(Record) ->
    Bytes = term_to_binary(Record),
    [erlang:md5(Bytes), Bytes].

decode(File, <<Digest:16/binary, Bytes/binary>>) ->
    case erlang:md5(Bytes) of
        Digest -> binary_to_term(Bytes);
        _ -> damaged(File)
    end;
decode(File, _) ->
    damaged(File).

damaged(File) ->
    ?LOG_WARNING(#{event => record_damaged, file => File}),
    none.
