%%% @doc The behaviour of a workload, the application of a node: its configuration, start, status
%%% and end.
%%%
%%% A workload is a module with this behaviour, on the code path of every node, and its kind is the
%%% module's name. `adcounter' comes with the release; a user's own comes with an image built on
%%% ours (docs/tutorials/erlang-app.md).
-module(workload).

-export([find/1]).
-export([parameters/2]).
%% Optional callbacks.
-export([leave/2]).
-export([sent_payload/1]).
-export([reachable/1]).
-export([backup/1]).
-export([restorable/3]).
-export([printed/1]).

%% `members': the names of all nodes of the cluster. `channel': the channel of propagation.
%% `parameters': the result of `parameters/2'. `directory': for data that must outlive a process; it
%% outlives the pod too if the cluster keeps its state in a claim.
%% `restored': a backup to join to the state, for `workload_backup:entries/1'.
-type options() :: #{
    name := partisan_peer:name(),
    incarnation := partisan_peer:incarnation(),
    run := binary(),
    members := [partisan_peer:name()],
    channel := atom(),
    directory := file:filename(),
    parameters := map(),
    restored => binary()
}.

%% Part of a JSON document: maps with atom or binary keys; `null' for unknown values.
-type status() :: #{atom() => term()}.

%% Kinds of parameters. One with a default may be left out of the configuration. Text is a binary;
%% an enumeration of atoms may be given as text too.
-type kind_of_parameter() ::
    positive_integer
    | {positive_integer, Default :: pos_integer()}
    | {text, Default :: binary()}
    | {one_of, [atom(), ...], Default :: atom()}.

-export_type([options/0, status/0, kind_of_parameter/0]).

%% The processes, started in this order and restarted together.
-callback child_specs(options()) -> [supervisor:child_spec()].
%% The parameters and their kinds.
-callback parameters() -> #{Key :: atom() => kind_of_parameter()}.
%% Starts the run with this id on all nodes; called on one node.
-callback start(Run :: binary()) -> ok | {error, Reason :: iodata()}.
-callback status() -> status().
%% The cluster has been scaled: the names of all its nodes now.
-callback members([partisan_peer:name()]) -> ok.
%% The node is about to leave the overlay: stop, and hand over what only this node knows.
-callback leave(Milliseconds :: timeout()) -> ok.
%% Bytes sent by this node to synchronise the workload, without transport overhead.
-callback sent_payload() -> non_neg_integer().

%% The registered names that receive messages from other nodes; by default those of all processes of
%% the workload except supervisors ({@link partisan_reach}).
-callback reachable() -> [Name :: atom() | {Name :: atom(), messages}].

%% The state, for a backup; and whether this workload can have written these entries, of a backup of
%% the same parameters. The error completes a sentence about the backup.
-callback backup() -> workload_backup:entries().
-callback restorable(workload_backup:entries(), Parameters :: map()) -> ok | {error, iodata()}.

-optional_callbacks([leave/1, sent_payload/0, reachable/0, backup/0, restorable/2]).

%% @doc The module of a kind of workload. An error explains to the builder of the image why it is
%% none.
-spec find(Kind :: atom()) -> {ok, module()} | {error, iolist()}.
find(Kind) ->
    Name = atom_to_list(Kind),
    case code:ensure_loaded(Kind) of
        {module, Kind} ->
            case [[$\s, atom_to_list(F), $/, integer_to_list(A)] || {F, A} <- missing(Kind)] of
                [] -> {ok, Kind};
                Missing -> {error, ["the module ", Name, " is no workload, for it lacks", Missing]}
            end;
        {error, nofile} ->
            {error, ["the image has no module ", Name, ": add ", Name,
                ".beam to a directory lib/*/ebin of the release"]};
        {error, Reason} ->
            {error, ["the module ", Name, " cannot be loaded (", atom_to_list(Reason),
                "): compile it with OTP ", erlang:system_info(otp_release), " as the image has it"]}
    end.

%% @doc The parameters of a module: the given ones, with defaults for the others.
-spec parameters(module(), Given :: #{atom() => term()}) ->
    {ok, #{atom() => term()}} | {error, iolist()}.
parameters(Module, Given) ->
    case Module:parameters() of
        Kinds when is_map(Kinds) ->
            parameters(maps:to_list(Kinds), Module, Given, #{});
        Other ->
            Format = "parameters/0 of ~p must return a map of keys and kinds, not ~0tP",
            {error, io_lib:format(Format, [Module, Other, 12])}
    end.

%% @doc As the callback; no-op for a module without it.
-spec leave(module(), timeout()) -> ok.
leave(Module, Timeout) ->
    case erlang:function_exported(Module, leave, 1) of
        true -> Module:leave(Timeout);
        false -> ok
    end.

%% @doc As the callback; 0 for a module without it.
-spec sent_payload(module()) -> non_neg_integer().
sent_payload(Module) ->
    case erlang:function_exported(Module, sent_payload, 0) of
        true -> Module:sent_payload();
        false -> 0
    end.

%% @doc As the callback; all names for a module without it.
-spec reachable(module()) -> applications | [Name :: atom() | {Name :: atom(), messages}].
reachable(Module) ->
    case erlang:function_exported(Module, reachable, 0) of
        true -> Module:reachable();
        false -> applications
    end.

%% @doc As the callback; none for a module without it.
-spec backup(module()) -> {ok, workload_backup:entries()} | none.
backup(Module) ->
    case erlang:function_exported(Module, backup, 0) of
        true -> {ok, Module:backup()};
        false -> none
    end.

%% @doc Whether a module can restore the state of a backup. The error completes a sentence about it.
-spec restorable(module(), Parameters :: map(), workload_backup:t()) -> ok | {error, iodata()}.
restorable(Module, Parameters, #{workload := Kind, parameters := Given, entries := Entries}) ->
    Name = atom_to_binary(Module),
    Differing = differing(lists:sort(maps:to_list(Given)), printed(Parameters)),
    case {erlang:function_exported(Module, restorable, 2), Kind, Differing} of
        {_, Other, _} when Other =/= Name ->
            {error, ["is of the workload ", Other, ", and this cluster runs ", Name]};
        {_, _, [{Key, Theirs, Ours} | _]} ->
            {error, ["is of a run with ", Key, $\s, Theirs, ", and spec.workload has ", Ours,
                ": set it as the backup has it"]};
        {false, _, _} ->
            {error, ["cannot be restored: the module ", Name, " has no restorable/2"]};
        {true, _, []} ->
            answer(Module:restorable(Entries, Parameters), Name)
    end.

%% @doc Parameters as they stand in a backup.
-spec printed(Parameters :: map()) -> #{binary() => binary()}.
printed(Parameters) ->
    maps:from_list([
        {atom_to_binary(Key), workload_backup:text(Value)}
     || {Key, Value} <- maps:to_list(Parameters)
    ]).

%% Internals.

answer(ok, _Name) ->
    ok;
answer({error, _} = Error, _Name) ->
    Error;
answer(Other, Name) ->
    Format = "cannot be restored: restorable/2 of ~ts must return ok or {error, Text}, not ~0tP",
    {error, io_lib:format(Format, [Name, Other, 12])}.

differing(Theirs, Ours) ->
    [
        {Key, Value, maps:get(Key, Ours, <<"none">>)}
     || {Key, Value} <- Theirs, maps:get(Key, Ours, none) =/= Value
    ].

missing(Module) ->
    Required = ?MODULE:behaviour_info(callbacks) -- ?MODULE:behaviour_info(optional_callbacks),
    [FA || {F, A} = FA <- Required, not erlang:function_exported(Module, F, A)].

parameters([], _Module, _Given, Parameters) ->
    {ok, Parameters};
parameters([{Key, Kind} | Kinds], Module, Given, Parameters) ->
    case parameter(Kind, maps:find(Key, Given)) of
        {ok, Value} -> parameters(Kinds, Module, Given, Parameters#{Key => Value});
        {error, Must} -> {error, io_lib:format("~p of ~p must be ~ts", [Key, Module, Must])}
    end.

parameter(positive_integer, {ok, Value}) when is_integer(Value), Value > 0 -> {ok, Value};
parameter(positive_integer, _) -> {error, "an integer above 0"};
parameter({positive_integer, Default}, error) -> {ok, Default};
parameter({positive_integer, _Default}, Given) -> parameter(positive_integer, Given);
parameter({text, Default}, error) -> {ok, Default};
parameter({text, _Default}, {ok, Value}) when is_binary(Value) -> {ok, Value};
parameter({text, _Default}, _) -> {error, "text"};
parameter({one_of, _Values, Default}, error) -> {ok, Default};
parameter({one_of, Values, _Default}, {ok, Given}) ->
    case [Value || Value <- Values, Given =:= Value orelse Given =:= atom_to_binary(Value)] of
        [Value] -> {ok, Value};
        [] -> {error, io_lib:format("one of ~0tp", [Values])}
    end;
parameter(Kind, _) ->
    {error, io_lib:format("declared with a kind that the type kind_of_parameter() of workload "
        "lists, not ~0tP", [Kind, 12])}.
