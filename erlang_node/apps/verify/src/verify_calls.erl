%%% @doc The calls of a hosted process that do more than compute, and what becomes of each.
%%%
%%% A replaced call runs a function of {@link verify_replaced}, which records an effect or reads
%%% virtual time. A call with a fixed value does nothing. A module that makes a refused call cannot
%%% be hosted. All other calls are left alone: functions of OTP are taken for pure, and those of
%%% other applications are examined themselves ({@link verify_host}).
-module(verify_calls).

-export([classify/3]).
-export([refusal/3]).

%% `replaced': call that with the same arguments. `value': its result, whatever the arguments.
-type verdict() ::
    pure
    | {replaced, module(), Function :: atom()}
    | {value, term()}
    | {refused, Remedy :: string()}.
-export_type([verdict/0]).

-define(STATE, "keep it in the state").
-define(MESSAGE, "send a message, and handle the answer in handle_info or as an info event").
-define(EDGE, "do it in a process of its own, outside of the hosted one").

%% @doc The treatment of a call of `Module:Function/Arity'.
-spec classify(module(), Function :: atom(), arity()) -> verdict().
classify(Module, Function, Arity) ->
    case call(Module, Function, Arity) of
        replaced when Module =:= erlang -> {replaced, verify_replaced, Function};
        replaced when Module =:= partisan -> {replaced, verify_replaced_partisan, Function};
        replaced -> {replaced, verify_replaced_otp, joined(Module, Function)};
        Verdict -> Verdict
    end.

%% @doc The description of a refused call, with the remedy.
-spec refusal(module(), Function :: atom(), arity()) -> iolist().
refusal(Module, Function, Arity) ->
    {refused, Remedy} = call(Module, Function, Arity),
    io_lib:format("~tw:~tw/~b cannot be hosted: ~ts", [Module, Function, Arity, Remedy]).

%% Internals.

joined(Module, Function) ->
    list_to_atom(atom_to_list(Module) ++ "_" ++ atom_to_list(Function)).

call(erlang, Function, Arity) -> erlang(Function, Arity);
call(partisan, Function, Arity) -> partisan(Function, Arity);
call(partisan_metrics, value, _Arity) -> {value, 0};
call(partisan_metrics, _Function, _Arity) -> {value, ok};
call(partisan_stray, call, _Arity) -> {value, {error, unknown_request}};
call(partisan_stray, _Function, _Arity) -> {value, ok};
call(partisan_config, get, 1) -> {replaced, verify_replaced_partisan, config};
call(partisan_config, _Function, _Arity) -> {refused, "configure the process by its options"};
call(gen_server, Function, Arity) -> server(Function, Arity);
call(gen_statem, Function, Arity) -> server(Function, Arity);
call(rand, Function, 1) when Function =:= seed; Function =:= seed_s -> replaced;
call(crypto, strong_rand_bytes, 1) -> replaced;
call(crypto, Function, _Arity) -> crypto(Function);
call(os, Function, _) when Function =:= timestamp; Function =:= system_time -> replaced;
call(os, Function, _) when Function =:= getenv; Function =:= type; Function =:= version -> pure;
call(os, _Function, _Arity) -> {refused, ?EDGE};
call(timer, Function, Arity) -> timer(Function, Arity);
call(persistent_term, Function, _Arity) -> persistent_term(Function);
call(ets, Function, _Arity) -> ets(Function);
call(application, Function, _Arity) -> application(Function);
call(logger, allow, _Arity) -> {value, false};
call(logger, _Function, _Arity) -> {value, ok};
call(error_logger, _Function, _Arity) -> {value, ok};
call(io, Function, _Arity) -> io(Function);
call(calendar, Function, _Arity) -> calendar(Function);
call(code, Function, _Arity) -> code(Function);
call(counters, _Function, _Arity) -> {refused, ?STATE};
call(atomics, _Function, _Arity) -> {refused, ?STATE};
call(Module, _Function, _Arity) -> module(Module).

erlang(self, 0) -> replaced;
erlang(node, 0) -> replaced;
erlang(nodes, _) -> replaced;
erlang(send, _) -> replaced;
erlang('!', 2) -> replaced;
erlang(send_after, _) -> replaced;
erlang(start_timer, _) -> replaced;
erlang(cancel_timer, _) -> replaced;
erlang(read_timer, _) -> replaced;
erlang(make_ref, 0) -> replaced;
erlang(unique_integer, _) -> replaced;
erlang(monotonic_time, _) -> replaced;
erlang(system_time, _) -> replaced;
erlang(timestamp, 0) -> replaced;
erlang(now, 0) -> replaced;
erlang(process_flag, 2) -> {value, false};
erlang(get, _) -> replaced;
erlang(get_keys, _) -> replaced;
erlang(put, 2) -> replaced;
erlang(erase, _) -> replaced;
erlang(whereis, 1) -> replaced;
erlang(register, 2) -> replaced;
erlang(apply, 3) -> replaced;
erlang(garbage_collect, _) -> {value, true};
erlang(exit, 2) -> {refused, "return {stop, Reason, State}"};
erlang(hibernate, 3) -> {refused, "return the action hibernate"};
erlang(monitor, _) -> {refused, "detect a lost process by a timeout"};
erlang(demonitor, _) -> {refused, "detect a lost process by a timeout"};
erlang(monitor_node, _) -> {refused, "detect a lost node by a timeout"};
erlang(Function, _) when
    Function =:= date; Function =:= time; Function =:= localtime; Function =:= universaltime
->
    {refused, "use erlang:system_time/1, which is virtual time"};
erlang(Function, _) when
    Function =:= spawn;
    Function =:= spawn_link;
    Function =:= spawn_monitor;
    Function =:= spawn_opt;
    Function =:= spawn_request
->
    {refused, "do the work in a callback, or after a message to self()"};
erlang(Function, _) when
    Function =:= link;
    Function =:= unlink;
    Function =:= alias;
    Function =:= unalias;
    Function =:= unregister;
    Function =:= registered;
    Function =:= is_process_alive;
    Function =:= process_info;
    Function =:= process_flag;
    Function =:= processes;
    Function =:= group_leader;
    Function =:= statistics;
    Function =:= memory;
    Function =:= system_flag;
    Function =:= send_nosuspend;
    Function =:= open_port;
    Function =:= ports;
    Function =:= port_command;
    Function =:= port_control;
    Function =:= port_close;
    Function =:= port_connect;
    Function =:= load_nif;
    Function =:= halt
->
    {refused, ?EDGE};
erlang(_, _) ->
    pure.

partisan(Function, Arity) ->
    case lists:member({Function, Arity}, partisan_replaced()) of
        true -> replaced;
        false when Function =:= call; Function =:= execute -> {refused, ?MESSAGE};
        false when Function =:= monitor -> {refused, "detect a lost process by a timeout"};
        false when Function =:= monitor_node -> {refused, "detect a lost node by a timeout"};
        false -> {refused, "use forward, cast, broadcast, members and neighbours"}
    end.

partisan_replaced() ->
    [
        {node, 0}, {incarnation, 0}, {self, 0}, {members, 0}, {neighbours, 0}, {joined, 0},
        {dissolved, 0}, {forward, 2}, {forward, 3}, {forward, 4}, {cast, 2}, {cast, 3},
        {broadcast, 2}, {broadcast, 3}, {send, 2}
    ].

server(reply, _) -> replaced;
server(cast, 2) -> replaced;
server(abcast, _) -> replaced;
server(Function, _) when Function =:= start; Function =:= start_link; Function =:= start_monitor ->
    {refused, ?EDGE};
server(_, _) ->
    {refused, ?MESSAGE}.

crypto(Function) ->
    case lists:prefix("rand", atom_to_list(Function)) of
        true -> {refused, "use rand, which is seeded"};
        false -> pure
    end.

timer(Function, Arity) when
    Function =:= send_after orelse Function =:= send_interval, Arity =:= 2 orelse Arity =:= 3
->
    replaced;
timer(cancel, 1) -> replaced;
timer(Function, _) when
    Function =:= seconds;
    Function =:= minutes;
    Function =:= hours;
    Function =:= hms;
    Function =:= now_diff
->
    pure;
timer(_, _) ->
    {refused, "use erlang:send_after/3"}.

persistent_term(Function) when Function =:= get; Function =:= put; Function =:= erase -> replaced;
persistent_term(_) -> {refused, ?STATE}.

ets(Function) when
    Function =:= fun2ms;
    Function =:= test_ms;
    Function =:= match_spec_compile;
    Function =:= match_spec_run;
    Function =:= is_compiled_ms
->
    pure;
ets(_) ->
    {refused, "keep the contents in the state, for example as a map"}.

application(Function) when
    Function =:= get_env; Function =:= get_all_env; Function =:= get_key; Function =:= get_all_key
->
    pure;
application(_) ->
    {refused, "configure the process by its options"}.

io(Function) when Function =:= format; Function =:= fwrite; Function =:= put_chars -> {value, ok};
io(_) -> {refused, ?EDGE}.

calendar(Function) when Function =:= local_time; Function =:= universal_time ->
    {refused, "use erlang:system_time/1, which is virtual time"};
calendar(_) ->
    pure.

code(Function) when Function =:= ensure_loaded; Function =:= which; Function =:= priv_dir -> pure;
code(_) -> {refused, ?EDGE}.

%% Whole modules that are nothing but effects.
module(Module) when
    Module =:= partisan_erlang;
    Module =:= partisan_nodes;
    Module =:= partisan_rpc;
    Module =:= partisan_erpc;
    Module =:= file;
    Module =:= filelib;
    Module =:= prim_file;
    Module =:= gen_tcp;
    Module =:= gen_udp;
    Module =:= gen_sctp;
    Module =:= socket;
    Module =:= inet;
    Module =:= ssl;
    Module =:= httpc;
    Module =:= dets;
    Module =:= disk_log;
    Module =:= mnesia;
    Module =:= rpc;
    Module =:= erpc;
    Module =:= global;
    Module =:= pg;
    Module =:= net_kernel;
    Module =:= net_adm;
    Module =:= peer;
    Module =:= slave;
    Module =:= supervisor;
    Module =:= gen_event;
    Module =:= proc_lib;
    Module =:= sys;
    Module =:= init
->
    {refused, ?EDGE};
module(_) ->
    pure.
