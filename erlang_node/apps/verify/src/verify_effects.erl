%%% @doc The surroundings of a hosted process: identity, timers, virtual time, random
%%% generator, process dictionary; and the effects of the callback that runs.
%%%
%%% A value between callbacks. While one runs it is in the process dictionary of the explorer
%%% ({@link enter/2}, {@link leave/0}), because the calls that it serves ({@link verify_replaced})
%%% are anywhere in the hosted code and return no state. Pids and references are those of an Erlang
%%% node named as the member, so equal executions have equal terms in every virtual machine.
-module(verify_effects).

-export([new/2]).
-export([enter/2]).
-export([leave/0]).
-export([members/1]).
-export([fired/1]).
-export([from/1]).
%% For the interpreters of behaviours.
-export([effect/1]).
-export([now/0]).
-export([read/1]).
%% For the replaced calls.
-export([send/2]).
-export([is_own/1]).
-export([start_timer/4]).
-export([cancel_timer/1]).
-export([remaining/1]).
-export([unique/0]).
-export([reference/0]).
-export([seed/0]).
-export([table/1]).
-export([set_table/2]).

-compile({no_auto_import, [now/0]}).

-type name() :: partisan_process:name().
%% `names': under which the process is registered. `modules': the copies of hosted modules.
-type spec() :: #{
    names := [atom()], modules := #{module() => module()}, random := boolean(), _ => _
}.
-type timer_name() :: {message, Type :: atom(), pos_integer()}.
-type table() :: dictionary | terms.

-record(effects, {
    self :: name(),
    pid :: pid(),
    client :: pid(),
    names :: [atom()],
    modules :: #{module() => module()},
    members :: [name()],
    incarnation :: pos_integer(),
    now = 0 :: non_neg_integer(),
    last = 0 :: non_neg_integer(),
    timers = #{} :: #{
        timer_name() => {reference(), Due :: integer(), Msg :: term(), Every :: non_neg_integer()}
    },
    dictionary = #{} :: map(),
    terms = #{} :: map(),
    % Exported, since the generator itself holds functions.
    random :: none | rand:export_state(),
    effects = [] :: [partisan_process:effect()]
}).

-opaque t() :: #effects{}.
-export_type([t/0, spec/0]).

%% @doc The surroundings of a process that has not run yet.
-spec new(spec(), partisan_process:options()) -> t().
new(#{names := Names, modules := Modules, random := Random}, Options) ->
    #{self := Self, members := Members, seed := Seed} = Options,
    Incarnation = maps:get(incarnation, Options, 1),
    #effects{
        self = Self,
        pid = pid(Self, 0),
        client = pid(Self, 1),
        names = Names,
        modules = Modules,
        members = Members,
        incarnation = Incarnation,
        random =
            case Random of
                true -> rand:export_seed_s(rand:seed_s(exsss, Seed));
                false -> none
            end
    }.

%% @doc Begins a callback at that virtual time, in milliseconds.
-spec enter(non_neg_integer(), t()) -> ok.
enter(Now, #effects{random = Random} = Effects) ->
    _ = put(?MODULE, Effects#effects{now = Now}),
    _ = Random =/= none andalso put(rand_seed, rand:seed_s(Random)),
    ok.

%% @doc Ends the callback.
-spec leave() -> {t(), [partisan_process:effect()]}.
leave() ->
    #effects{random = Random, effects = Reversed} = Effects = erase(?MODULE),
    {
        Effects#effects{
            now = 0,
            effects = [],
            random =
                case Random of
                    none -> none;
                    _ -> rand:export_seed_s(erase(rand_seed))
                end
        },
        lists:reverse(Reversed)
    }.

%% @doc Replaces the members.
-spec members([name()]) -> ok.
members(Names) ->
    keep((current())#effects{members = Names}).

%% @doc The message of a timer of the process that has fired.
-spec fired(timer_name()) -> {ok, Msg :: term()} | error.
fired(Name) ->
    #effects{now = Now, timers = Timers} = Effects = current(),
    case maps:take(Name, Timers) of
        {{_, _, Msg, 0}, Others} ->
            ok = keep(Effects#effects{timers = Others}),
            {ok, Msg};
        {{Reference, _, Msg, Every}, _} ->
            Again = Timers#{Name := {Reference, Now + Every, Msg, Every}},
            ok = keep(Effects#effects{timers = Again}),
            ok = effect({start_timer, Name, Every}),
            {ok, Msg};
        error ->
            error
    end.

%% @doc The caller of a request, as `gen_server' has it.
-spec from(Ref :: term()) -> {pid(), Ref :: term()}.
from(Ref) ->
    {(current())#effects.client, Ref}.

%% For the interpreters of behaviours.

%% @doc Adds an effect.
-spec effect(partisan_process:effect()) -> ok.
effect(Effect) ->
    #effects{effects = Before} = Effects = current(),
    keep(Effects#effects{effects = [Effect | Before]}).

%% @doc Virtual time, in milliseconds.
-spec now() -> non_neg_integer().
now() ->
    (current())#effects.now.

%% @doc A fact about the process.
-spec read(self | pid | names | modules | members | incarnation) -> term().
read(self) -> (current())#effects.self;
read(pid) -> (current())#effects.pid;
read(names) -> (current())#effects.names;
read(modules) -> (current())#effects.modules;
read(members) -> (current())#effects.members;
read(incarnation) -> (current())#effects.incarnation.

%% For the replaced calls.

%% @doc Sends a message to a pid, a registered name, or a name on a node. One process is hosted on
%% each member; a message to another one is an error of the hosting, not of the protocol.
-spec send(verify_replaced:destination(), Msg :: term()) -> ok | {error, not_connected}.
send(Destination, Msg) ->
    #effects{members = Members} = Effects = current(),
    case address(Destination, Effects) of
        client ->
            effect({deliver, Msg});
        Node ->
            case lists:member(Node, Members) of
                true -> effect({send, Node, Msg});
                false -> {error, not_connected}
            end
    end.

%% @doc Whether a destination is the process itself.
-spec is_own(verify_replaced:destination()) -> boolean().
is_own(Destination) ->
    #effects{self = Self} = Effects = current(),
    address(Destination, Effects) =:= Self.

%% @doc Starts a timer whose message is computed from its reference; `Every' is its period, or 0.
-spec start_timer(non_neg_integer(), Type :: atom(), fun((reference()) -> term()), Every) ->
    reference()
when
    Every :: non_neg_integer().
start_timer(Milliseconds, Type, Message, Every) ->
    Reference = reference(),
    #effects{now = Now, last = N, timers = Timers} = Effects = current(),
    Name = {message, Type, N},
    Timer = {Reference, Now + Milliseconds, Message(Reference), Every},
    ok = keep(Effects#effects{timers = Timers#{Name => Timer}}),
    ok = effect({start_timer, Name, Milliseconds}),
    Reference.

%% @doc Cancels a timer. Returns its remaining milliseconds, or false if it does not run.
-spec cancel_timer(reference()) -> non_neg_integer() | false.
cancel_timer(Reference) ->
    #effects{now = Now, timers = Timers} = Effects = current(),
    case find(Reference, Timers) of
        {Name, Due} ->
            ok = keep(Effects#effects{timers = maps:remove(Name, Timers)}),
            ok = effect({cancel_timer, Name}),
            Due - Now;
        false ->
            false
    end.

%% @doc The remaining milliseconds of a timer, or false if it does not run.
-spec remaining(reference()) -> non_neg_integer() | false.
remaining(Reference) ->
    #effects{now = Now, timers = Timers} = current(),
    case find(Reference, Timers) of
        {_Name, Due} -> Due - Now;
        false -> false
    end.

%% @doc A number that this incarnation has not used before.
-spec unique() -> pos_integer().
unique() ->
    #effects{last = Last} = Effects = current(),
    ok = keep(Effects#effects{last = Last + 1}),
    Last + 1.

%% @doc A reference that this incarnation has not used before.
-spec reference() -> reference().
reference() ->
    N = unique(),
    #effects{self = Self, incarnation = Incarnation} = current(),
    % The first word of an identifier has 18 bits.
    Words = <<(N band 16#3FFFF):32, (N bsr 18):32>>,
    binary_to_term(<<131, 90, 2:16, (atom_of(Self))/binary, Incarnation:32, Words/binary>>).

%% @doc A seed for a generator of the process's own.
-spec seed() -> partisan_process:seed().
seed() ->
    #effects{self = Self, incarnation = Incarnation} = current(),
    {erlang:phash2(Self), Incarnation, unique()}.

%% @doc The process dictionary of the process, or the persistent terms of its node.
-spec table(table()) -> map().
table(dictionary) -> (current())#effects.dictionary;
table(terms) -> (current())#effects.terms.

%% @doc Replaces such a table.
-spec set_table(table(), map()) -> ok.
set_table(dictionary, Table) -> keep((current())#effects{dictionary = Table});
set_table(terms, Table) -> keep((current())#effects{terms = Table}).

%% Internals.

current() ->
    get(?MODULE).

keep(Effects) ->
    _ = put(?MODULE, Effects),
    ok.

%% Pids of the virtual machine itself are those of tests.
address({Name, Node}, Effects) -> named(Name, Node, Effects);
address(Name, #effects{self = Self} = Effects) when is_atom(Name) -> named(Name, Self, Effects);
address(Client, #effects{client = Client}) -> client;
address(Pid, #effects{}) when node(Pid) =:= node() -> client;
address(Pid, #effects{}) -> atom_to_binary(node(Pid)).

named(Name, Node, #effects{names = Names}) ->
    lists:member(Name, Names) orelse
        error({not_hosted, {process, Name}, "only the process itself is, under its own names"}),
    case is_atom(Node) of
        true -> atom_to_binary(Node);
        false -> Node
    end.

find(Reference, Timers) ->
    case [{Name, Due} || {Name, {R, Due, _, _}} <- maps:to_list(Timers), R =:= Reference] of
        [Found] -> Found;
        [] -> false
    end.

%% In the external term format: of another node than the explorer's, so that a message sent to it
%% by code that is not hosted arrives nowhere.
pid(Node, Id) ->
    binary_to_term(<<131, 88, (atom_of(Node))/binary, Id:32, 0:32, 1:32>>).

atom_of(Name) ->
    <<119, (byte_size(Name)), Name/binary>>.
