%%% @doc Runs a {@link partisan_process} in a node: messages over {@link partisan:forward/4}, timers
%%% on the clock.
%%%
%%% ```
%%% {ok, _} = partisan_process_server:start_link(#{
%%%     module => two_phase_commit, name => commit, deliver => self()
%%% }),
%%% ok = partisan_process_server:call(commit, {broadcast, hello}),
%%% receive {commit, hello} -> ok end.
%%% '''
%%%
%%% The process has the same registered name on every member; a message travels as
%%% `{partisan_process, From, Msg}' ({@link partisan_envelope}). One that cannot be sent is lost, as
%%% the behaviour allows.
-module(partisan_process_server).
-behaviour(gen_server).

-export([start_link/1]).
-export([call/2]).
-export([call/3]).
-export([members/2]).
%% gen_server.
-export([init/1]).
-export([handle_call/3]).
-export([handle_cast/2]).
-export([handle_info/2]).

%% `name': registered, the same on every member. `members': those that the node knows by default.
%% `options': further ones for `init/1'. `deliver': what becomes of outputs; a process gets
%% `{Name, Output}'; by default they are dropped. `send': options of messages, by default
%% `#{on_busy => drop}'. `directory': for what the process persists, by default in no file, so that
%% it does not survive the process.
-type options() :: #{
    module := module(),
    name := atom(),
    members => [partisan_process:name()],
    options => map(),
    deliver => pid() | fun((Output :: term()) -> term()),
    send => partisan_transport:options(),
    directory => file:filename_all()
}.
-export_type([options/0]).

-record(server, {
    module :: module(),
    name :: atom(),
    self :: partisan_process:name(),
    state :: term(),
    timers = #{} :: #{Timer :: term() => reference()},
    deliver :: fun((term()) -> term()),
    send :: partisan_transport:options(),
    file :: none | file:filename()
}).

%% @doc Starts a process. `{error, Reason}' is `{bad_option, {Name, Value}}', also for a directory
%% that does not exist, or `{unknown_option, Name}'.
-spec start_link(options()) -> {ok, pid()} | {error, term()}.
start_link(#{module := _, name := Name} = Options) ->
    case partisan_arguments:wrong(fun is_valid/2, Options) of
        [] -> gen_server:start_link({local, Name}, ?MODULE, Options, []);
        [Wrong | _] -> {error, Wrong}
    end.

%% @equiv call(Process, Request, 5000)
-spec call(Process, Request :: term()) -> Answer :: term() when
    Process :: atom() | pid() | partisan_ref:target().
call(Process, Request) ->
    call(Process, Request, 5000).

%% @doc Sends a request of a client, the event `{call, Ref, Request}', and waits for the answer.
%% Milliseconds; exits as `gen_server:call/3' does, for a process of another node as {@link
%% partisan:call/3}.
-spec call(Process, Request :: term(), timeout()) -> Answer :: term() when
    Process :: atom() | pid() | partisan_ref:target().
call(Process, Request, Timeout) when is_atom(Process); is_pid(Process) ->
    gen_server:call(Process, {call, Request}, Timeout);
call(Process, Request, Timeout) ->
    partisan:call(Process, {call, Request}, Timeout).

%% @doc Changes the members.
-spec members(atom() | pid(), [partisan_process:name()]) -> ok.
members(Process, Names) ->
    partisan_arguments:are_names(Names) orelse error(badarg),
    gen_server:cast(Process, {members, Names}).

%% gen_server.

%% @private
-spec init(options()) -> {ok, #server{}}.
init(#{module := Module, name := Name} = Options) ->
    Self = partisan:node(),
    File = file(Options),
    Server = #server{
        module = Module,
        name = Name,
        self = Self,
        deliver = deliver(Options),
        send = maps:get(send, Options, #{on_busy => drop}),
        file = File
    },
    Members = maps:get(members, Options, partisan:members()),
    Own = #{
        self => Self,
        members => lists:usort([Self | Members]),
        incarnation => partisan:incarnation(),
        seed => {erlang:phash2(Self), erlang:phash2(partisan:incarnation()), erlang:phash2(Name)}
    },
    Given = maps:merge(maps:get(options, Options, #{}), maps:merge(Own, persisted(File))),
    {ok, effects(Module:init(Given), [], Server)}.

%% @private
-spec handle_call(term(), gen_server:from(), #server{}) ->
    {noreply, #server{}} | {reply, term(), #server{}}.
handle_call({call, Request}, From, Server) ->
    {noreply, handle({call, From, Request}, [], Server)};
handle_call(Unknown, _From, Server) ->
    {reply, partisan_stray:call(Unknown), Server}.

%% @private
-spec handle_cast(term(), #server{}) -> {noreply, #server{}}.
handle_cast({members, Names} = Request, #server{self = Self} = Server) ->
    % It may come from another node.
    case partisan_arguments:are_names(Names) of
        true ->
            {noreply, handle({members, lists:usort([Self | Names])}, [], Server)};
        false ->
            ok = partisan_stray:cast(Request),
            {noreply, Server}
    end;
handle_cast(Unknown, Server) ->
    ok = partisan_stray:cast(Unknown),
    {noreply, Server}.

%% @private
-spec handle_info(term(), #server{}) -> {noreply, #server{}}.
handle_info({partisan_process, From, Msg}, Server) when is_binary(From) ->
    {noreply, handle({message, From, Msg}, [], Server)};
handle_info({timeout, Reference, {?MODULE, Timer}}, #server{timers = Timers} = Server) ->
    case Timers of
        #{Timer := Reference} ->
            Fired = Server#server{timers = maps:remove(Timer, Timers)},
            {noreply, handle({timer, Timer}, [], Fired)};
        #{} ->
            % It was stopped or started again when it had fired already.
            {noreply, Server}
    end;
handle_info(Unknown, Server) ->
    ok = partisan_stray:message(Unknown),
    {noreply, Server}.

%% Internals.

is_valid(module, Module) -> is_atom(Module);
is_valid(name, Name) -> is_atom(Name);
is_valid(members, Names) -> partisan_arguments:are_names(Names);
is_valid(options, Options) -> is_map(Options);
is_valid(deliver, Deliver) -> is_pid(Deliver) orelse is_function(Deliver, 1);
is_valid(send, Options) -> is_map(Options);
is_valid(directory, Directory) -> filelib:is_dir(Directory);
is_valid(_Option, _Value) -> unknown.

%% `Own' are messages to itself, oldest first: the next events of the process.
handle(Event, Own, #server{module = Module, state = State} = Server) ->
    effects(Module:handle(Event, State), Own, Server).

effects({State, Effects}, Own0, #server{self = Self} = Server0) ->
    Server = lists:foldl(fun effect/2, Server0#server{state = State}, Effects),
    case Own0 ++ [Msg || {send, To, Msg} <- Effects, To =:= Self] of
        [] -> Server;
        [Msg | Own] -> handle({message, Self, Msg}, Own, Server)
    end.

effect({send, Self, _Msg}, #server{self = Self} = Server) ->
    Server;
effect({send, Node, Msg}, #server{self = Self, name = Name, send = Options} = Server) ->
    _ = partisan:forward(Node, Name, {partisan_process, Self, Msg}, Options),
    Server;
effect({start_timer, Timer, Milliseconds}, Server0) ->
    #server{timers = Timers} = Server = stop_timer(Timer, Server0),
    Reference = erlang:start_timer(Milliseconds, self(), {?MODULE, Timer}),
    Server#server{timers = Timers#{Timer => Reference}};
effect({cancel_timer, Timer}, Server) ->
    stop_timer(Timer, Server);
effect({reply, From, Answer}, Server) ->
    ok = gen_server:reply(From, Answer),
    Server;
effect({deliver, Output}, #server{deliver = Deliver} = Server) ->
    _ = Deliver(Output),
    Server;
effect({persist, _Term}, #server{file = none} = Server) ->
    Server;
effect({persist, Term}, #server{file = File} = Server) ->
    ok = partisan_record:save(File, Term),
    Server.

stop_timer(Timer, #server{timers = Timers} = Server) ->
    case maps:take(Timer, Timers) of
        {Reference, Others} ->
            _ = erlang:cancel_timer(Reference),
            Server#server{timers = Others};
        error ->
            Server
    end.

deliver(#{deliver := Pid, name := Name}) when is_pid(Pid) ->
    fun(Output) -> Pid ! {Name, Output} end;
deliver(#{deliver := Fun}) ->
    Fun;
deliver(#{}) ->
    fun(_Output) -> ok end.

file(#{directory := Directory, name := Name}) ->
    filename:join(text(Directory), atom_to_list(Name) ++ ".process");
file(#{}) ->
    none.

text(Name) when is_binary(Name) -> unicode:characters_to_list(Name, file:native_name_encoding());
text(Name) -> Name.

persisted(none) ->
    #{};
persisted(File) ->
    case partisan_record:load(File) of
        {ok, Term} -> #{persisted => Term};
        none -> #{}
    end.
