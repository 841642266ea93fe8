%%% @doc Rumor mongering (Demers et al., "Epidemic algorithms for replicated database maintenance",
%%% PODC 1987, section 1.4), the variants that push.
%%%
%%% A node is <em>susceptible</em> to an update that it does not know, <em>infective</em> while it
%%% spreads it, then <em>removed</em>. In each cycle an infective node pushes its rumors to a random
%%% node. It loses interest in a rumor by contacts that were unnecessary, because the other knew
%%% it. The rumor dies out with a few nodes still susceptible (the <em>residue</em>): most updates
%%% reach every node, none is certain to. Anti-entropy corrects the rest.
%%%
%%% == Requests ==
%%% `{broadcast, Value}' is answered by `ok' at once. A node delivers a value at most once.
%%%
%%% == Options ==
%%% <ul>
%%% <li>`k': unnecessary contacts until interest is lost; 2</li>
%%% <li>`interest': `counter' loses it after `k' of them in a row, `coin' after each with
%%%     probability 1/k; `counter'</li>
%%% <li>`feedback': whether the other answers which rumors it knew. Without it (`blind' in the
%%%     paper) every contact counts as unnecessary; `true'</li>
%%% <li>`interval': milliseconds of a cycle; 1,000</li>
%%% </ul>
-module(rumor_mongering).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).

-type name() :: partisan_process:name().
-type id() :: {Origin :: name(), pos_integer()}.

-record(rumors, {
    self :: name(),
    others :: [name()],
    k :: pos_integer(),
    interest :: counter | coin,
    feedback :: boolean(),
    interval :: pos_integer(),
    random :: rand:state(),
    next = 1 :: pos_integer(),
    known = #{} :: #{id() => []},
    % The infective list: unnecessary contacts in a row of each rumor.
    infective = #{} :: #{id() => {Value :: term(), Unnecessary :: non_neg_integer()}}
}).

%% @private
-spec init(partisan_process:options()) -> {#rumors{}, [partisan_process:effect()]}.
init(#{self := Self, members := Members, seed := Seed} = Options) ->
    {Next, Known} = maps:get(persisted, Options, {1, #{}}),
    Rumors = #rumors{
        self = Self,
        others = lists:delete(Self, Members),
        k = maps:get(k, Options, 2),
        interest = maps:get(interest, Options, counter),
        feedback = maps:get(feedback, Options, true),
        interval = maps:get(interval, Options, 1000),
        random = rand:seed_s(exsss, Seed),
        next = Next,
        known = Known
    },
    {Rumors, []}.

%% @private
-spec handle(partisan_process:event(), #rumors{}) -> {#rumors{}, [partisan_process:effect()]}.
handle({call, Ref, {broadcast, Value}}, #rumors{self = Self, next = Next} = R) ->
    {Infected, Effects} = infect([{{Self, Next}, Value}], R#rumors{next = Next + 1}),
    {Infected, Effects ++ [{reply, Ref, ok}]};
handle({message, From, {rumors, Rumors}}, #rumors{known = Known, feedback = Feedback} = R) ->
    {Old, New} = lists:partition(fun({Id, _}) -> is_map_key(Id, Known) end, Rumors),
    {Infected, Effects} = infect(New, R),
    Answer = {feedback, [Id || {Id, _} <- Old], [Id || {Id, _} <- New]},
    {Infected, [{send, From, Answer} || Feedback] ++ Effects};
handle({message, _From, {feedback, Unnecessary, Necessary}}, #rumors{} = R) ->
    {lists:foldl(fun necessary/2, lists:foldl(fun unnecessary/2, R, Unnecessary), Necessary), []};
handle({timer, cycle}, #rumors{infective = Infective} = R) when map_size(Infective) =:= 0 ->
    {R, []};
handle({timer, cycle}, #rumors{others = []} = R) ->
    {R, []};
handle({timer, cycle}, #rumors{others = Others, infective = Infective, random = Random0} = R0) ->
    {Other, Random} = partisan_random:pick(Others, Random0),
    Rumors = [{Id, Value} || {Id, {Value, _}} <- lists:sort(maps:to_list(Infective))],
    R1 = R0#rumors{random = Random},
    R =
        case R1#rumors.feedback of
            true -> R1;
            false -> lists:foldl(fun({Id, _}, Acc) -> unnecessary(Id, Acc) end, R1, Rumors)
        end,
    {R, [{send, Other, {rumors, Rumors}}, {start_timer, cycle, R#rumors.interval}]};
handle({members, Members}, #rumors{self = Self} = R) ->
    {R#rumors{others = lists:delete(Self, Members)}, []}.

%% @doc See {@link dissemination}.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    dissemination:scenario(Members).

%% @doc No node delivers a rumor twice. Whether all have it is a matter of luck.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(Outcome) ->
    dissemination:unique(Outcome).

%% Internals.

infect([], #rumors{} = R) ->
    {R, []};
infect(Rumors, #rumors{known = Known, infective = Infective} = R) ->
    New = maps:from_list([{Id, {Value, 0}} || {Id, Value} <- Rumors]),
    Infected = R#rumors{
        known = maps:merge(Known, maps:map(fun(_, _) -> [] end, New)),
        infective = maps:merge(Infective, New)
    },
    Persist = {persist, {Infected#rumors.next, Infected#rumors.known}},
    % The cycles of a node that is infective already go on as they are.
    Cycle = [{start_timer, cycle, R#rumors.interval} || map_size(Infective) =:= 0],
    {Infected, [Persist | [{deliver, Value} || {_, Value} <- Rumors]] ++ Cycle}.

necessary(Id, #rumors{infective = Infective} = R) ->
    case Infective of
        #{Id := {Value, _}} -> R#rumors{infective = Infective#{Id := {Value, 0}}};
        #{} -> R
    end.

unnecessary(Id, #rumors{infective = Infective} = R) ->
    case Infective of
        #{Id := {Value, Contacts}} ->
            {Lost, Random} = loses_interest(Contacts + 1, R),
            Left =
                case Lost of
                    true -> maps:remove(Id, Infective);
                    false -> Infective#{Id := {Value, Contacts + 1}}
                end,
            R#rumors{infective = Left, random = Random};
        #{} ->
            R
    end.

loses_interest(Contacts, #rumors{interest = counter, k = K, random = Random}) ->
    {Contacts >= K, Random};
loses_interest(_Contacts, #rumors{interest = coin, k = K, random = Random0}) ->
    {Drawn, Random} = rand:uniform_s(K, Random0),
    {Drawn =:= 1, Random}.
