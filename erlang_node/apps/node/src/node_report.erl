%%% @doc A node's report on itself: the documents behind its HTTP endpoint, as values.
-module(node_report).

-export([version/0]).
-export([register_metrics/0]).
-export([overlay/0]).
-export([status/1]).
-export([traffic/0]).
-export([alive/1]).
%% For the exporter.
-export([memory_samples/0]).
-export([cpu_samples/0]).
-export([process_samples/0]).
-export([run_queue_samples/0]).
-export([build_samples/0]).

%% HTTP interface of this image: 2 supports the bearer and TLS. Older images report nothing.
-define(INTERFACE, 2).
%% Peers whose traffic is reported one by one. Partial views are smaller; a report on all peers of a
%% full mesh would be large.
-define(PEERS, 64).

%% @doc The version of the release.
-spec version() -> binary().
version() ->
    {ok, Version} = application:get_key(node, vsn),
    list_to_binary(Version).

%% @doc Registers the metrics of the virtual machine.
-spec register_metrics() -> ok.
register_metrics() ->
    lists:foreach(
        fun({Type, Name, Help, Labels, Function}) ->
            ok = partisan_metrics:new_function(Type, Name, Help, Labels, {?MODULE, Function})
        end,
        [
            {counter, process_cpu_seconds_total, "CPU time of the Erlang VM's threads.", [],
                cpu_samples},
            {gauge, erlang_vm_memory_bytes,
                "Memory: resident, and by kind if the VM counts it.", [kind],
                memory_samples},
            {gauge, erlang_vm_processes, "Erlang processes.", [], process_samples},
            {gauge, erlang_vm_run_queue, "Erlang processes ready to run.", [], run_queue_samples},
            {gauge, partisan_build_info, "Always 1; labels: versions of the node and of OTP.",
                [version, otp], build_samples}
        ]
    ).

%% @doc The node's view of the overlay.
-spec overlay() -> node_json:json().
overlay() ->
    #{kind := Kind, joined := Joined, active := Active, passive := Passive} = partisan:overlay(),
    #{
        node => partisan:node(),
        incarnation => partisan:incarnation(),
        overlay => Kind,
        joined => Joined,
        active => Active,
        passive => Passive
    }.

%% @doc Everything the operator needs to know.
-spec status(none | module()) -> node_json:json().
status(Workload) ->
    {Milliseconds, _} = erlang:statistics(wall_clock),
    Common = #{
        node => partisan:node(),
        incarnation => partisan:incarnation(),
        version => version(),
        interface => ?INTERFACE,
        otp => otp(),
        uptime_seconds => Milliseconds / 1000,
        revision => node_settings:revision(),
        overlay => overlay_status(partisan:overlay()),
        channels => partisan:channels(),
        tls => tls_status(partisan_tls:credentials()),
        memory_bytes => proplists:get_value(resident, memory())
    },
    maps:merge(Common, workload_status(Workload)).

%% @doc The traffic to each peer, a part of the status on request.
-spec traffic() -> #{traffic := node_json:json()}.
traffic() ->
    #{traffic => partisan_traffic:by_peer(partisan_transport:lanes(), ?PEERS)}.

%% @doc Whether the node's essential processes answer.
-spec alive(none | module()) -> boolean().
alive(Workload) ->
    try
        _ = workload_status(Workload),
        is_pid(whereis(partisan_manager))
    catch
        exit:_ -> false
    end.

%% For the exporter.

%% @private
-spec memory_samples() -> [{[atom()], non_neg_integer()}].
memory_samples() ->
    [{[Kind], Bytes} || {Kind, Bytes} <- memory()].

%% @private
-spec cpu_samples() -> [{[], float()}].
cpu_samples() ->
    {Milliseconds, _} = erlang:statistics(runtime),
    [{[], Milliseconds / 1000}].

%% @private
-spec process_samples() -> [{[], non_neg_integer()}].
process_samples() ->
    [{[], erlang:system_info(process_count)}].

%% @private
-spec run_queue_samples() -> [{[], non_neg_integer()}].
run_queue_samples() ->
    [{[], erlang:statistics(total_run_queue_lengths)}].

%% @private
-spec build_samples() -> [{[binary()], 1}].
build_samples() ->
    [{[version(), otp()], 1}].

%% Internals.

overlay_status(#{former := none} = Overlay) -> Overlay#{former := null};
overlay_status(Overlay) -> Overlay.

tls_status(none) -> null;
tls_status(Credentials) -> Credentials.

workload_status(none) ->
    #{sync_payload_bytes => 0, workload => null};
workload_status(Module) ->
    case partisan:dissolved() of
        true -> workload_status(none);
        false -> workload_report(Module)
    end.

workload_report(Module) ->
    #{sync_payload_bytes => workload:sent_payload(Module), workload => Module:status()}.

otp() ->
    list_to_binary(erlang:system_info(otp_release)).

%% As counted by the kernel, which is what a container is charged for. With the release's small
%% allocators the virtual machine keeps no count of its own.
memory() ->
    [
        {resident, resident_bytes()}
        | try
            erlang:memory()
        catch
            error:notsup -> []
        end
    ].

resident_bytes() ->
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_Size, Resident | _] = binary:split(Statm, <<" ">>, [global]),
    binary_to_integer(Resident) * 4096.
