%%% @doc The behaviour of a process as a value: a protocol that runs unchanged in a node, in virtual
%%% time and in the explorer.
%%%
%%% Like an overlay ({@link partisan_overlay}) it takes an event and returns its next state and a
%%% list of effects; it opens no socket, reads no clock and draws no random number from outside: it
%%% seeds its generator in `init/1'. Two executions with the same events are therefore identical.
%%%
%%% == Guarantees of the interpreter ==
%%% <ul>
%%% <li>A message may be lost, delayed or duplicated, and may overtake another; a message to oneself
%%%     is none of these and is the next event of the process.</li>
%%% <li>A timer fires once; starting it again restarts it. `cancel_timer' of a timer that does not
%%%     run is a no-op.</li>
%%% <li>`{call, Ref, Request}' comes from a client of this node and is answered by one `reply' with
%%%     the same reference, now or later.</li>
%%% <li>`{persist, Term}' replaces what the process has persisted. It is durable before the effects
%%%     after it; the next incarnation finds it in its options as `persisted'.</li>
%%% </ul>
%%%
%%% == Verification ==
%%% The optional callbacks describe how a process is verified: `scenario/1' the calls of an
%%% execution, `verdict/1' whether its outcome is allowed, `symmetry/1' which members are
%%% interchangeable.
-module(partisan_process).

-export([type/1]).

-type name() :: partisan_peer:name().
-type seed() :: {integer(), integer(), integer()}.

-type event() ::
    {message, From :: name(), Msg :: term()}
    | {timer, Name :: term()}
    | {call, Ref :: term(), Request :: term()}
    % The members have changed; the names are sorted and include this node's.
    | {members, [name()]}.

-type effect() ::
    {send, name(), Msg :: term()}
    | {start_timer, Name :: term(), Milliseconds :: non_neg_integer()}
    | {cancel_timer, Name :: term()}
    | {reply, Ref :: term(), Answer :: term()}
    % Output to the application of this node.
    | {deliver, term()}
    | {persist, term()}.

%% `members' is sorted and includes `self'. The rest are the process's own parameters.
-type options() :: #{
    self := name(),
    members := [name()],
    seed := seed(),
    persisted => term(),
    _ => _
}.

%% The end of an execution. `delivered', `states': by node, of nodes that are down too (state
%% `undefined'). `replies': in order.
-type outcome() :: #{
    members := [name()],
    up := [name()],
    replies := [{name(), Ref :: term(), Answer :: term()}],
    delivered := #{name() => [term()]},
    states := #{name() => State :: term()}
}.

-export_type([name/0, seed/0, event/0, effect/0, options/0, outcome/0]).

-callback init(options()) -> {State :: term(), [effect()]}.
-callback handle(event(), State :: term()) -> {State :: term(), [effect()]}.

%% Events from outside in an execution with these members, with their times in milliseconds.
-callback scenario([name()]) -> [{Milliseconds :: non_neg_integer(), name(), event()}].
-callback verdict(outcome()) -> ok | {violated, iodata()}.
%% Sets of members that may swap their names: the process only compares names and sends to all of
%% a set alike, and nothing depends on the order of messages that arrive at the same time.
-callback symmetry([name()]) -> [[name()]].

-optional_callbacks([scenario/1, verdict/1, symmetry/1]).

%% @doc The type of a message, by which faults and schedules select it: the message if it is an
%% atom, the first element if it is a tuple that begins with one, otherwise `term'. The type of a
%% cast ({@link partisan:cast/2}) is that of its request.
-spec type(Msg :: term()) -> atom().
type({'$gen_cast', Request}) -> type(Request);
type(Msg) when is_atom(Msg) -> Msg;
type(Msg) when is_tuple(Msg), tuple_size(Msg) > 0, is_atom(element(1, Msg)) -> element(1, Msg);
type(_Msg) -> term.
