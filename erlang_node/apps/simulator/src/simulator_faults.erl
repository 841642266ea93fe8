%%% @doc Rules of injected faults ({@link partisan_fault}) in a simulation, as in a live node.
%%%
%%% The channel of all messages is `overlay'; their types are the layers of the stack (`overlay',
%%% `broadcast', `route' ...). A value; the times of its rules count from its beginning.
-module(simulator_faults).

-export([new/2]).
-export([sent/5]).
-export([step/3]).
-export([is_apart/4]).

-type milliseconds() :: simulator_clock:milliseconds().
-type name() :: partisan_peer:name().

-record(faults, {
    rules :: partisan_fault:compiled(),
    set_at :: milliseconds(),
    counts = #{} :: partisan_fault:counts()
}).

-opaque t() :: #faults{}.
-export_type([t/0]).

%% @doc These rules, from now on. Raises `{invalid_rules, Description}'.
-spec new([partisan_fault:rule()], Now :: milliseconds()) -> t().
new(Rules, Now) ->
    #faults{rules = partisan_fault:compile(Rules), set_at = Now}.

%% @doc The copies of a message that arrive, each with its additional delay.
-spec sent(name(), name(), Msg :: term(), milliseconds(), t()) ->
    {[{Delay :: milliseconds(), Msg :: term()}], t()}.
sent(From, To, Msg, Now, #faults{set_at = SetAt} = F0) ->
    case is_apart(From, To, Now, F0) of
        true ->
            % It fails where it would arrive, which its sender notices.
            {[{0, Msg}], F0};
        false ->
            {Decision, F} = decide({message, Now - SetAt, From, To, overlay, Msg}, F0),
            {copies(Decision, Msg), F}
    end.

%% @doc Whether a node survives until its next event.
-spec step(name(), milliseconds(), t()) -> {boolean(), t()}.
step(Node, Now, #faults{set_at = SetAt} = F0) ->
    {Decision, F} = decide({step, Now - SetAt, Node}, F0),
    {Decision =/= crash, F}.

%% @doc Whether a partition separates two nodes.
-spec is_apart(name(), name(), milliseconds(), t()) -> boolean().
is_apart(A, B, Now, #faults{rules = Rules, set_at = SetAt}) ->
    partisan_fault:partition(A, B, Now - SetAt, Rules) =/= none.

%% Internals.

decide(Event, #faults{rules = Rules, counts = Counts0} = F) ->
    {Decision, Counts} = partisan_fault:decide(Rules, Event, Counts0),
    {Decision, F#faults{counts = Counts}}.

copies(pass, Msg) -> [{0, Msg}];
copies(drop, _Msg) -> [];
copies({delay, Ms}, Msg) -> [{Ms, Msg}];
copies(duplicate, Msg) -> [{0, Msg}, {0, Msg}];
copies({replace, Other}, _Msg) -> [{0, Other}].
