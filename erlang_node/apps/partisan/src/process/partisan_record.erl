%%% @doc A term in a file, for a process that must find it again after a restart.
%%%
%%% It is replaced by a rename, so that a process killed at any moment leaves either the previous or
%%% the new term. The file is not flushed: it survives the process and the container, and a crash of
%%% the machine only if the directory's file system does. An unreadable or damaged file counts as
%%% none.
-module(partisan_record).

-export([load/1]).
-export([save/2]).

-include_lib("kernel/include/logger.hrl").

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
    case file:write_file(Temporary, encode(Term), [raw]) of
        ok -> file:rename(Temporary, File);
        {error, _} = Error -> Error
    end.

%% Internals.

encode(Term) ->
    Bytes = term_to_binary(Term),
    [erlang:md5(Bytes), Bytes].

decode(File, <<Digest:16/binary, Bytes/binary>>) ->
    case erlang:md5(Bytes) of
        Digest -> {ok, binary_to_term(Bytes)};
        _ -> damaged(File)
    end;
decode(File, _) ->
    damaged(File).

damaged(File) ->
    ?LOG_WARNING(#{event => record_damaged, file => File}),
    none.
