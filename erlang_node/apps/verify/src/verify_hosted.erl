%%% @doc Runs the callbacks of a hosted `gen_server' or `gen_statem' for the module that {@link
%%% verify_host} has generated.
%%%
%%% Its events become those of the behaviour: a message is a cast if it was sent as one, else an
%%% info; a timer is the message that it sends. When the process stops for a normal reason, it
%%% ignores all later events; any other reason is a crash.
-module(verify_hosted).

-export([init/2]).
-export([handle/2]).
-export([handle/3]).
-export([scenario/2]).
-export([verdict/2]).
-export([symmetry/2]).
-export([state/1]).
%% For the interpreters of behaviours.
-export([stop/1]).

%% `behaviour', `module': what is hosted.
-type spec() :: #{behaviour := gen_server | gen_statem, module := module(), _ => _}.

%% An event as behaviours know it; `timeout' is a timer of the behaviour itself.
-type event() ::
    {{call, From :: {pid(), Ref :: term()}}, Request :: term()}
    | {cast, Request :: term()}
    | {info, Msg :: term()}
    | {timeout, Timer :: term()}.

-record(hosted, {
    interpreter :: module(),
    copy :: module(),
    effects :: verify_effects:t(),
    state :: stopped | {running, term()}
}).

-opaque t() :: #hosted{}.
-export_type([t/0, spec/0, event/0]).

%% The interpreter of a behaviour. `stopped' is the result of `stop/1'.
-callback init(module(), Argument :: term()) -> {running, State :: term()} | stopped.
-callback handle(event(), module(), State :: term()) -> {running, State :: term()} | stopped.
%% What users mean by the state of the process.
-callback state(State :: term()) -> term().

%% @doc Starts the process.
-spec init(spec(), partisan_process:options()) -> {t(), [partisan_process:effect()]}.
init(#{behaviour := Behaviour, module := Module, modules := Copies} = Spec, Options) ->
    Copy = map_get(Module, Copies),
    Interpreter = interpreter(Behaviour),
    ok = verify_effects:enter(maps:get(now, Options, 0), verify_effects:new(Spec, Options)),
    State = Interpreter:init(Copy, argument(Module, Options)),
    {Effects, Done} = verify_effects:leave(),
    {#hosted{interpreter = Interpreter, copy = Copy, effects = Effects, state = State}, Done}.

%% @equiv handle(Event, 0, Hosted)
-spec handle(partisan_process:event(), t()) -> {t(), [partisan_process:effect()]}.
handle(Event, Hosted) ->
    handle(Event, 0, Hosted).

%% @doc Handles an event at that virtual time, in milliseconds.
-spec handle(partisan_process:event(), non_neg_integer(), t()) ->
    {t(), [partisan_process:effect()]}.
handle(_Event, _Now, #hosted{state = stopped} = Hosted) ->
    {Hosted, []};
handle(Event, Now, #hosted{interpreter = Interpreter, copy = Copy} = Hosted) ->
    #hosted{effects = Before, state = {running, State}} = Hosted,
    ok = verify_effects:enter(Now, Before),
    Next =
        case event(Event) of
            none -> {running, State};
            Own -> Interpreter:handle(Own, Copy, State)
        end,
    {Effects, Done} = verify_effects:leave(),
    {Hosted#hosted{effects = Effects, state = Next}, Done}.

%% @doc The scenario that the module exports itself.
-spec scenario(module(), [partisan_process:name()]) ->
    [{non_neg_integer(), partisan_process:name(), partisan_process:event()}].
scenario(Module, Members) ->
    Module:scenario(Members).

%% @doc The module's own verdict, on the states of its processes as {@link state/1} returns them.
-spec verdict(module(), partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(Module, #{states := States} = Outcome) ->
    Module:verdict(Outcome#{states := maps:map(fun(_Name, State) -> state(State) end, States)}).

%% @doc The symmetric roles that the module declares.
-spec symmetry(module(), [partisan_process:name()]) -> [[partisan_process:name()]].
symmetry(Module, Members) ->
    Module:symmetry(Members).

%% @doc The state of the process as its module knows it: of a `gen_server' its state, of a
%% `gen_statem' `{State, Data}'; `stopped'; `undefined' if the node is down.
-spec state(t() | undefined) -> term().
state(undefined) -> undefined;
state(#hosted{state = stopped}) -> stopped;
state(#hosted{interpreter = Interpreter, state = {running, State}}) -> Interpreter:state(State).

%% For the interpreters of behaviours.

%% @doc Stops the process for that reason.
-spec stop(Reason :: term()) -> stopped.
stop(normal) -> stopped;
stop(shutdown) -> stopped;
stop({shutdown, _}) -> stopped;
stop(Reason) -> exit(Reason).

%% Internals.

interpreter(gen_server) -> verify_gen_server;
interpreter(gen_statem) -> verify_gen_statem.

event({message, _From, {'$gen_cast', Request}}) -> {cast, Request};
event({message, _From, Msg}) -> {info, Msg};
event({call, Ref, Request}) -> {{call, verify_effects:from(Ref)}, Request};
event({members, Names}) ->
    ok = verify_effects:members(Names),
    none;
event({timer, {message, _, _} = Name}) ->
    {ok, Msg} = verify_effects:fired(Name),
    {info, Msg};
event({timer, Timer}) ->
    {timeout, Timer}.

argument(_Module, #{argument := Argument}) ->
    Argument;
argument(Module, #{self := Self, members := Members} = Options) ->
    case workload:find(Module) of
        {ok, Module} ->
            {ok, Parameters} = workload:parameters(Module, maps:get(parameters, Options, #{})),
            #{
                name => Self,
                incarnation => maps:get(incarnation, Options, 1),
                run => maps:get(run, Options, <<"run">>),
                members => Members,
                channel => default,
                directory => "/nonexistent",
                parameters => Parameters
            };
        {error, _} ->
            Options#{name => Self}
    end.
