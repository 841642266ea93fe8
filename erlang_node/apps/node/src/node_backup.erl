%%% @doc Backups of the node's workload: the one that it starts from, and those that clients take.
%%%
%%% The first one is mounted from the ConfigMap or Secret in `spec.restore'. Every start of a node
%%% joins it to the state again, which changes nothing that the cluster still holds.
-module(node_backup).

-export([restored/3]).
-export([origin/1]).
-export([take/1]).

-import(node_config_file, [invalid/2]).

-type workload() :: none | {module(), workload:options()}.
%% What a backup says of its origin.
-type origin() :: #{cluster := binary(), namespace := binary(), workload := workload()}.

-export_type([origin/0]).

%% One byte more than `workload_backup:decode/1' accepts.
-define(READ_BYTES, 1048577).
-define(NO_ENTRIES, "is no map of printable binaries without spaces to integers from 1 on").

%% @doc The workload with the backup in a file, which it starts from; throws `{invalid, Text}' for
%% one that it cannot start from.
-spec restored(file:name_all(), Cluster :: binary(), workload()) -> workload().
restored(File, _Cluster, none) ->
    refuse(File, "has no use without a workload");
restored(File, Cluster, {Module, #{parameters := Parameters} = Options}) ->
    Bytes = read(File),
    Checked =
        case workload_backup:decode(Bytes) of
            {ok, #{cluster := Cluster} = Backup} ->
                workload:restorable(Module, Parameters, Backup);
            {ok, #{cluster := Other}} ->
                {error, ["is of the cluster ", Other, ", whose nodes have other names: restore it "
                    "into a cluster of that name"]};
            {error, _} = Error ->
                Error
        end,
    case Checked of
        ok -> {Module, Options#{restored => Bytes}};
        {error, Text} -> refuse(File, Text)
    end.

%% @doc The origin of this node's backups.
-spec origin(node_config:t()) -> origin().
origin(#{workload := Workload, namespace := Namespace, context := #{cluster := Cluster}}) ->
    #{cluster => Cluster, namespace => Namespace, workload => Workload}.

%% @doc The state of this node's replica, as a backup. An error if no node could start from it.
-spec take(origin()) -> {ok, binary()} | {error, iodata()}.
take(#{workload := none}) ->
    {error, "this node has no workload"};
take(#{workload := {Module, #{parameters := Parameters}}} = Origin) ->
    case partisan:dissolved() orelse workload:backup(Module) of
        {ok, Entries} ->
            written(Module, Origin#{
                workload := atom_to_binary(Module),
                taken => erlang:system_time(second),
                parameters => workload:printed(Parameters),
                entries => Entries
            });
        none ->
            {error, ["the module ", atom_to_binary(Module), " has no backup/0"]};
        true ->
            {error, "the cluster is being deleted"}
    end.

%% Internals.

written(Module, #{entries := Entries} = Backup) ->
    try workload_backup:encode(Backup) of
        Bytes ->
            case workload_backup:decode(Bytes) of
                {ok, #{entries := Entries}} -> {ok, Bytes};
                {ok, _} -> unusable(Module, ?NO_ENTRIES);
                {error, Text} -> unusable(Module, Text)
            end
    catch
        error:_ -> unusable(Module, ?NO_ENTRIES)
    end.

unusable(Module, Text) ->
    {error, ["the state that backup/0 of ", atom_to_binary(Module), " returns ", Text]}.

-spec refuse(file:name_all(), iodata()) -> no_return().
refuse(File, Text) ->
    invalid(
        "restore: the backup ~ts ~ts. Write another one with kubectl partisan restore, or remove "
        "spec.restore", [File, Text]).

read(File) ->
    case beginning(File) of
        {ok, Bytes} -> Bytes;
        eof -> <<>>;
        {error, Reason} -> refuse(File, ["cannot be read: ", file:format_error(Reason)])
    end.

beginning(File) ->
    case file:open(File, [read, raw, binary]) of
        {ok, Device} ->
            Read = file:read(Device, ?READ_BYTES),
            ok = file:close(Device),
            Read;
        {error, _} = Error ->
            Error
    end.
