%%% @doc The file with a node's own counts ({@link partisan_record}).
%%%
%%% Written before a count is shown to other nodes. The directory is in memory (`emptyDir' of medium
%%% Memory), with exactly the lifetime of the pod, or on a volume that outlives the pod. A restarted
%%% container finds its last record, and so does a new pod on the same volume. After a new pod or a
%%% reboot of the machine without one there is none, and the node becomes a new actor. A volume must
%%% not bring back an older record, such as that of a snapshot: the same actor would count again
%%% what others have already seen.
%%%
%%% An unreadable file, or one with another term, counts as none, which is always safe.
-module(adcounter_journal).

-export([load/1]).
-export([save/2]).

-define(NAME, "adcounter.record").

%% @doc Reads the record from the directory.
-spec load(file:filename()) -> none | adcounter_core:kept().
load(Directory) ->
    case partisan_record:load(filename:join(Directory, ?NAME)) of
        {ok, #{run := _, name := _, incarnation := _, counts := #{}} = Record} -> Record;
        _ -> none
    end.

%% @doc Replaces the record. The caller should crash on an error: a node that cannot record its
%% counts must not count.
-spec save(file:filename(), adcounter_core:kept()) -> ok | {error, file:posix()}.
save(Directory, Record) ->
    partisan_record:save(filename:join(Directory, ?NAME), Record).
