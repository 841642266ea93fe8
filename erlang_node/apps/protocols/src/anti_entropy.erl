%%% @doc Anti-entropy (Demers et al., "Epidemic algorithms for replicated database maintenance",
%%% PODC 1987, section 1.3), push-pull: in each interval every node chooses a random other node,
%%% and the two resolve the differences between their databases.
%%%
%%% Exchanges repeat, so a lost message delays an update and loses none: with probability 1
%%% every update reaches every node. The whole database crosses; the paper's checksums and lists of
%%% recent updates, which save that, are left out.
%%%
%%% == Requests ==
%%% `{broadcast, Value}' is answered by `ok' at once. A node delivers a value once.
%%%
%%% == Options ==
%%% <ul>
%%% <li>`interval': milliseconds between exchanges; 1,000</li>
%%% <li>`exchanges': how many a node begins, or `infinity'. Explorers need an end; `infinity'</li>
%%% </ul>
-module(anti_entropy).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).

-type name() :: partisan_process:name().
-type database() :: #{{Origin :: name(), pos_integer()} => Value :: term()}.

-record(replica, {
    self :: name(),
    others :: [name()],
    interval :: pos_integer(),
    exchanges :: non_neg_integer() | infinity,
    random :: rand:state(),
    next = 1 :: pos_integer(),
    database = #{} :: database()
}).

%% @private
-spec init(partisan_process:options()) -> {#replica{}, [partisan_process:effect()]}.
init(#{self := Self, members := Members, seed := Seed} = Options) ->
    {Next, Database} = maps:get(persisted, Options, {1, #{}}),
    Replica = #replica{
        self = Self,
        others = lists:delete(Self, Members),
        interval = maps:get(interval, Options, 1000),
        exchanges = maps:get(exchanges, Options, infinity),
        random = rand:seed_s(exsss, Seed),
        next = Next,
        database = Database
    },
    {Replica, [{start_timer, exchange, Replica#replica.interval}]}.

%% @private
-spec handle(partisan_process:event(), #replica{}) -> {#replica{}, [partisan_process:effect()]}.
handle({call, Ref, {broadcast, Value}}, #replica{self = Self, next = Next} = R) ->
    {Stored, Effects} = resolve(#{{Self, Next} => Value}, R#replica{next = Next + 1}),
    {Stored, Effects ++ [{reply, Ref, ok}]};
handle({timer, exchange}, #replica{exchanges = 0} = R) ->
    {R, []};
handle({timer, exchange}, #replica{others = []} = R) ->
    {R, [{start_timer, exchange, R#replica.interval}]};
handle({timer, exchange}, #replica{others = Others, random = Random0} = R) ->
    {Other, Random} = partisan_random:pick(Others, Random0),
    {
        R#replica{random = Random, exchanges = one_less(R#replica.exchanges)},
        [
            {send, Other, {exchange, R#replica.database}},
            {start_timer, exchange, R#replica.interval}
        ]
    };
handle({message, From, {exchange, Theirs}}, #replica{database = Ours} = R) ->
    {Resolved, Effects} = resolve(Theirs, R),
    Missing = maps:without(maps:keys(Theirs), Ours),
    {Resolved, Effects ++ [{send, From, {missing, Missing}} || map_size(Missing) > 0]};
handle({message, _From, {missing, Missing}}, #replica{} = R) ->
    resolve(Missing, R);
handle({members, Members}, #replica{self = Self} = R) ->
    {R#replica{others = lists:delete(Self, Members)}, []}.

%% @doc See {@link dissemination}.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    dissemination:scenario(Members).

%% @doc See {@link dissemination:complete/1}, if there were exchanges enough.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(Outcome) ->
    dissemination:complete(Outcome).

%% Internals.

%% Stores and delivers what is new.
resolve(Updates, #replica{database = Database} = R) ->
    case lists:sort(maps:to_list(maps:without(maps:keys(Database), Updates))) of
        [] ->
            {R, []};
        New ->
            Merged = maps:merge(Database, maps:from_list(New)),
            Persist = {persist, {R#replica.next, Merged}},
            Deliver = [{deliver, Value} || {_, Value} <- New],
            {R#replica{database = Merged}, [Persist | Deliver]}
    end.

one_less(infinity) -> infinity;
one_less(Exchanges) -> Exchanges - 1.
