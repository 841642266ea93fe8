%%% @doc The file with a node's own counts.
%%%
%%% Written before a count is shown to other nodes, and replaced by a rename, so that a process
%%% killed at any moment leaves either the old or the new record. The directory should be in memory
%%% (`emptyDir' of medium Memory), with exactly the lifetime of the pod, and the file is not
%%% flushed. A restarted container finds its last record; after a reboot of the machine there is
%%% none, and the node becomes a new actor. A disk could bring back an older record after a machine
%%% crash, and the same actor would count again what others have already seen.
%%%
%%% An unreadable file counts as none, which is always safe.
-module(adcounter_journal).

-export([load/1]).
-export([save/2]).

-include_lib("kernel/include/logger.hrl").

-define(NAME, "adcounter.record").

%% @doc Reads the record from the directory.
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

%% @doc Replaces the record. The caller should crash on an error: a node that cannot record its
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
