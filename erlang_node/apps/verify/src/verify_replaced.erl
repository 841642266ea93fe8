%%% @doc The calls of `erlang' that a hosted process makes instead of the originals, in virtual
%%% time.
%%%
%%% Each has the name, the arguments and the result of the original. {@link verify_calls} decides
%%% which calls are replaced; {@link verify_effects} keeps what they change.
-module(verify_replaced).

-compile({no_auto_import, [
    self/0, node/0, nodes/0, nodes/1, apply/3, put/2, get/0, get/1, get_keys/0, get_keys/1, erase/0,
    erase/1, now/0, make_ref/0, whereis/1, register/2
]}).

%% For the rewritten code itself.
-export([value/2]).
-export([refused/1]).
-export([external/3]).
%% erlang.
-export([apply/3]).
-export([self/0]).
-export([node/0]).
-export([nodes/0]).
-export([nodes/1]).
-export(['!'/2]).
-export([send/2]).
-export([send/3]).
-export([whereis/1]).
-export([register/2]).
-export([send_after/3]).
-export([send_after/4]).
-export([start_timer/3]).
-export([start_timer/4]).
-export([cancel_timer/1]).
-export([cancel_timer/2]).
-export([read_timer/1]).
-export([read_timer/2]).
-export([make_ref/0]).
-export([unique_integer/0]).
-export([unique_integer/1]).
-export([monotonic_time/0]).
-export([monotonic_time/1]).
-export([system_time/0]).
-export([system_time/1]).
-export([timestamp/0]).
-export([now/0]).
-export([put/2]).
-export([get/0]).
-export([get/1]).
-export([get_keys/0]).
-export([get_keys/1]).
-export([erase/0]).
-export([erase/1]).
%% For the replaced calls of other modules.
-export([start_timer/5]).

-type destination() :: pid() | atom() | {Name :: atom(), partisan_process:name() | node()}.
-export_type([destination/0]).

%% For the rewritten code itself.

%% @doc A fixed value, once the arguments of the call are evaluated.
-spec value(Value, Arguments :: [term()]) -> Value.
value(Value, _Arguments) -> Value.

%% @doc Fails, in code that no callback reaches by the calls that the rewriting sees.
-spec refused(Text :: string()) -> no_return().
refused(Text) -> error({not_hosted, Text}).

%% @doc The function `fun Module:Function/Arity'.
-spec external(module(), Function :: atom(), arity()) -> function().
external(Module, Function, Arity) ->
    case verify_calls:classify(Module, Function, Arity) of
        pure -> function(computed(Module, Function, Arity), Function, Arity);
        {replaced, By, Replacement} -> function(By, Replacement, Arity);
        _ when Arity =:= 0 -> fun() -> apply(Module, Function, []) end;
        _ when Arity =:= 1 -> fun(A) -> apply(Module, Function, [A]) end;
        _ when Arity =:= 2 -> fun(A, B) -> apply(Module, Function, [A, B]) end;
        _ -> fun(A, B, C) -> apply(Module, Function, [A, B, C]) end
    end.

function(Module, Function, Arity) -> fun Module:Function/Arity.

%% erlang.

%% @private
-spec apply(module(), Function :: atom(), [term()]) -> term().
apply(Module, Function, Arguments) ->
    Arity = length(Arguments),
    case verify_calls:classify(Module, Function, Arity) of
        pure -> erlang:apply(computed(Module, Function, Arity), Function, Arguments);
        {replaced, By, Replacement} -> erlang:apply(By, Replacement, Arguments);
        {value, Value} -> Value;
        {refused, _} -> refused(lists:flatten(verify_calls:refusal(Module, Function, Arity)))
    end.

%% @private
-spec self() -> pid().
self() -> verify_effects:read(pid).

%% @private
-spec node() -> node().
node() -> binary_to_atom(verify_effects:read(self)).

%% @private
-spec nodes() -> [node()].
nodes() -> lists:delete(node(), nodes(known)).

%% @private
-spec nodes(atom() | [atom()]) -> [node()].
nodes(this) -> [node()];
nodes(known) -> [binary_to_atom(Name) || Name <- verify_effects:read(members)];
nodes(_) -> nodes().

%% @private
-spec '!'(destination(), Msg) -> Msg.
'!'(Destination, Msg) -> send(Destination, Msg).

%% @private
-spec send(destination(), Msg) -> Msg.
send(Destination, Msg) ->
    _ = verify_effects:send(Destination, Msg),
    Msg.

%% @private
-spec send(destination(), Msg :: term(), [term()]) -> ok.
send(Destination, Msg, _Options) ->
    _ = send(Destination, Msg),
    ok.

%% @private
-spec whereis(atom()) -> pid() | undefined.
whereis(Name) ->
    case lists:member(Name, verify_effects:read(names)) of
        true -> self();
        false -> undefined
    end.

%% @private
-spec register(atom(), pid()) -> true.
register(Name, Pid) ->
    Pid =:= self() andalso whereis(Name) =:= Pid orelse error(badarg).

%% @private
-spec send_after(integer(), destination(), Msg :: term()) -> reference().
send_after(Milliseconds, Destination, Msg) ->
    start_timer(Milliseconds, Destination, Msg, fun(_) -> Msg end, 0).

%% @private
-spec send_after(integer(), destination(), Msg :: term(), [term()]) -> reference().
send_after(Time, Destination, Msg, Options) ->
    send_after(relative(Time, Options), Destination, Msg).

%% @private
-spec start_timer(integer(), destination(), Msg :: term()) -> reference().
start_timer(Milliseconds, Destination, Msg) ->
    Message = fun(Reference) -> {timeout, Reference, Msg} end,
    start_timer(Milliseconds, Destination, Msg, Message, 0).

%% @private
-spec start_timer(integer(), destination(), Msg :: term(), [term()]) -> reference().
start_timer(Time, Destination, Msg, Options) ->
    start_timer(relative(Time, Options), Destination, Msg).

%% @private
-spec cancel_timer(reference()) -> non_neg_integer() | false.
cancel_timer(Reference) -> verify_effects:cancel_timer(Reference).

%% @private
-spec cancel_timer(reference(), [{async | info, boolean()}]) -> non_neg_integer() | false | ok.
cancel_timer(Reference, Options) ->
    Remaining = cancel_timer(Reference),
    IsWanted = proplists:get_value(info, Options, true),
    case proplists:get_value(async, Options, false) of
        true when IsWanted -> send(self(), {cancel_timer, Reference, Remaining}), ok;
        false when IsWanted -> Remaining;
        _ -> ok
    end.

%% @private
-spec read_timer(reference()) -> non_neg_integer() | false.
read_timer(Reference) -> verify_effects:remaining(Reference).

%% @private
-spec read_timer(reference(), [term()]) -> non_neg_integer() | false.
read_timer(Reference, _Options) -> read_timer(Reference).

%% @private
-spec make_ref() -> reference().
make_ref() -> verify_effects:reference().

%% @private
-spec unique_integer() -> pos_integer().
unique_integer() -> verify_effects:unique().

%% @private
-spec unique_integer([positive | monotonic]) -> pos_integer().
unique_integer(_Modifiers) -> unique_integer().

%% @private
-spec monotonic_time() -> non_neg_integer().
monotonic_time() -> monotonic_time(native).

%% @private
-spec monotonic_time(erlang:time_unit()) -> non_neg_integer().
monotonic_time(Unit) -> erlang:convert_time_unit(verify_effects:now(), millisecond, Unit).

%% @private
-spec system_time() -> non_neg_integer().
system_time() -> monotonic_time().

%% @private
-spec system_time(erlang:time_unit()) -> non_neg_integer().
system_time(Unit) -> monotonic_time(Unit).

%% @private
-spec timestamp() -> erlang:timestamp().
timestamp() ->
    Seconds = verify_effects:now() div 1000,
    {Seconds div 1000000, Seconds rem 1000000, verify_effects:now() rem 1000 * 1000}.

%% @private
-spec now() -> erlang:timestamp().
now() -> timestamp().

%% @private
-spec put(term(), term()) -> term().
put(Key, Value) ->
    Table = verify_effects:table(dictionary),
    ok = verify_effects:set_table(dictionary, Table#{Key => Value}),
    maps:get(Key, Table, undefined).

%% @private
-spec get() -> [{term(), term()}].
get() -> lists:sort(maps:to_list(verify_effects:table(dictionary))).

%% @private
-spec get(term()) -> term().
get(Key) -> maps:get(Key, verify_effects:table(dictionary), undefined).

%% @private
-spec get_keys() -> [term()].
get_keys() -> [Key || {Key, _} <- get()].

%% @private
-spec get_keys(term()) -> [term()].
get_keys(Value) -> [Key || {Key, V} <- get(), V =:= Value].

%% @private
-spec erase() -> [{term(), term()}].
erase() ->
    All = get(),
    ok = verify_effects:set_table(dictionary, #{}),
    All.

%% @private
-spec erase(term()) -> term().
erase(Key) ->
    Value = get(Key),
    ok = verify_effects:set_table(dictionary, maps:remove(Key, verify_effects:table(dictionary))),
    Value.

%% For the replaced calls of other modules.

%% @doc Starts a timer for the process itself, named after the type of `Msg'. The message that it
%% sends is computed from its reference; `Every' is its period, or 0.
-spec start_timer(integer(), destination(), Msg, fun((reference()) -> term()), integer()) ->
    reference()
when
    Msg :: term().
start_timer(Milliseconds, Destination, Msg, Message, Every) ->
    % Erlang's timers send to processes of their own node only.
    verify_effects:is_own(Destination) orelse error(badarg),
    verify_effects:start_timer(Milliseconds, partisan_process:type(Msg), Message, Every).

%% Internals.

%% The copy of a module, or the module itself if the function is pure, which is found out once.
computed(Module, Function, Arity) ->
    Key = {?MODULE, Module, Function, Arity},
    case {verify_effects:read(modules), erlang:get(Key)} of
        {#{Module := Copy}, _} ->
            Copy;
        {#{}, pure} ->
            Module;
        {#{}, undefined} ->
            Text = "~tp:~tp/~b has effects: call it by its name",
            verify_reach:is_pure(Module, Function, Arity) orelse
                refused(lists:flatten(io_lib:format(Text, [Module, Function, Arity]))),
            _ = erlang:put(Key, pure),
            Module
    end.

relative(Time, Options) ->
    case proplists:get_bool(abs, Options) of
        true -> max(0, Time - monotonic_time(millisecond));
        false -> Time
    end.
