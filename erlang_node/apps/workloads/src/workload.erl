%%% @doc What a node runs on the overlay, as seen by the node: how it is configured, started, asked
%%% and ended. A new workload is a module with this behaviour and a line in `module/1'.
-module(workload).

-export([module/1]).
-export([kinds/0]).

%% `members': the names of all nodes of the cluster. `channel': the channel for propagation.
%% `parameters': what `parameters/1' made of the configuration. `directory': where the node may keep
%% what has to outlive a process, but no pod.
-type options() :: #{
    name := partisan_peer:name(),
    incarnation := partisan_peer:incarnation(),
    run := binary(),
    members := [partisan_peer:name()],
    channel := atom(),
    directory := file:filename(),
    parameters := map()
}.

%% A part of a JSON document: maps with atoms or binaries as keys; `null' for what is not known.
-type status() :: #{atom() => term()}.

%% What a parameter may be. One that has a default may be left out of the configuration.
-type kind_of_parameter() :: positive_integer | {one_of, [atom(), ...], Default :: atom()}.

-export_type([options/0, status/0, kind_of_parameter/0]).

%% The processes, to be started in this order and restarted together.
-callback child_specs(options()) -> [supervisor:child_spec()].
%% Which parameters there are, with the kind of each.
-callback parameters() -> #{Key :: atom() => kind_of_parameter()}.
%% Start the run of this id, everywhere; told on one node.
-callback start(Run :: binary()) -> ok | {error, Reason :: iodata()}.
-callback status() -> status().
%% The cluster has been scaled: these are the names of all its nodes now.
-callback members([partisan_peer:name()]) -> ok.
%% The node is about to leave the overlay: stop, and hand over what only this node knows.
-callback leave(Milliseconds :: timeout()) -> ok.

%% @doc The module of a kind of workload.
-spec module(Kind :: atom()) -> {ok, module()} | error.
module(adcounter) -> {ok, adcounter};
module(_) -> error.

%% @doc The kinds there are.
-spec kinds() -> [atom()].
kinds() ->
    [adcounter].
