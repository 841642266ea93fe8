%%% @doc Primary and backups (Alsberg, Day, "A principle for resilient sharing of distributed
%%% resources", ICSE 1976), the chained model with two-host resiliency.
%%%
%%% The members in order are the primary, the backup that cooperates with it, and further backups.
%%% A user's request goes to any of them, which passes it to the primary. The primary performs it
%%% and sends a <em>cooperation request</em> to the first backup. That performs it too, and only
%%% then acknowledges it to the user and to the primary, and passes a <em>backup request</em> down
%%% the chain, where each host acknowledges to the one before it. An unacknowledged request is
%%% sent again.
%%%
%%% == Guarantee ==
%%% An update that was answered by `ok' has been performed by two hosts, and so survives the loss
%%% of any one. An update answered by `{error, timeout}' may or may not be performed, and is
%%% performed at most once. Backups perform updates in the primary's order, so that the history of
%%% a host is a prefix of that of the host before it.
%%%
%%% == Failures ==
%%% `{members, Names}' removes hosts that have failed: the next in order takes over, and every host
%%% sends its history to its new successor. The paper's detection of failures is not part of this
%%% module: as there, a host that is alive and believed dead breaks the guarantee. A single host
%%% refuses updates with `{error, not_resilient}'.
%%%
%%% == Requests ==
%%% `{update, Key, Value}' is answered by `ok' or an error above; `{query, Key}' by `{ok, Value}' or
%%% `not_found', from this host's copy.
%%%
%%% == Options ==
%%% <ul>
%%% <li>`retry': milliseconds until an unacknowledged request is sent again; 1,000</li>
%%% <li>`attempts': how often it is sent at most; 3</li>
%%% </ul>
-module(primary_backup).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([history/1]).

-type name() :: partisan_process:name().
-type id() :: {Host :: name(), pos_integer()}.
-type update() :: {id(), Key :: term(), Value :: term()}.

-record(host, {
    self :: name(),
    members :: [name(), ...],
    retry :: pos_integer(),
    attempts :: pos_integer(),
    next = 1 :: pos_integer(),
    % Requests of users of this host that are not answered, with the attempts that are left.
    users = #{} :: #{id() => {Ref :: term(), Key :: term(), Value :: term(), integer()}},
    % Performed updates by their sequence numbers from 1, and those of them by request.
    performed = #{} :: #{pos_integer() => update()},
    requests = #{} :: #{id() => pos_integer()},
    store = #{} :: #{Key :: term() => Value :: term()},
    % The successor has performed the updates up to this one.
    confirmed = 0 :: non_neg_integer(),
    left = 0 :: non_neg_integer()
}).

-opaque t() :: #host{}.
-export_type([t/0]).

%% @private
-spec init(partisan_process:options()) -> {t(), [partisan_process:effect()]}.
init(#{self := Self, members := Members} = Options) ->
    {Next, Updates} = maps:get(persisted, Options, {1, []}),
    Host = #host{
        self = Self,
        members = Members,
        retry = maps:get(retry, Options, 1000),
        attempts = maps:get(attempts, Options, 3),
        next = Next
    },
    pass_on(lists:foldl(fun add/2, Host#host{left = Host#host.attempts}, Updates)).

%% @private
-spec handle(partisan_process:event(), t()) -> {t(), [partisan_process:effect()]}.
handle({call, Ref, {query, Key}}, #host{store = Store} = H) ->
    Answer =
        case Store of
            #{Key := Value} -> {ok, Value};
            #{} -> not_found
        end,
    {H, [{reply, Ref, Answer}]};
handle({call, Ref, {update, _Key, _Value}}, #host{members = [_]} = H) ->
    {H, [{reply, Ref, {error, not_resilient}}]};
handle({call, Ref, {update, Key, Value}}, #host{self = Self, next = Next, users = Users} = H) ->
    Id = {Self, Next},
    User = {Ref, Key, Value, H#host.attempts},
    Begun = H#host{next = Next + 1, users = Users#{Id => User}},
    {Requested, Effects} = request(Id, Begun),
    {Requested, [persist(Begun) | Effects]};
handle({timer, {request, Id}}, #host{} = H) ->
    request(Id, H);
handle({message, _From, {request, Update}}, #host{} = H) ->
    perform_first(Update, H);
handle({message, From, {Request, Sequence, Update}}, #host{} = H) when
    Request =:= cooperate; Request =:= backup
->
    % Sequence numbers of a previous primary may belong to other updates now.
    case predecessor(H) of
        From -> perform_next(Request, Sequence, Update, From, H);
        _ -> {H, []}
    end;
handle({message, _From, {acknowledge, Id}}, #host{} = H) ->
    answer(Id, ok, H);
handle({message, From, {performed, Sequence}}, #host{confirmed = Confirmed} = H) ->
    case successor(H) of
        From -> pass_on(H#host{confirmed = max(Confirmed, Sequence), left = H#host.attempts});
        _ -> {H, []}
    end;
handle({timer, pass_on}, #host{left = Left} = H) ->
    pass_on(H#host{left = max(0, Left - 1)});
handle({members, Members}, #host{} = H) ->
    Changed = H#host{members = Members},
    case successor(Changed) =:= successor(H) of
        true -> {Changed, []};
        false -> pass_on(Changed#host{confirmed = 0, left = H#host.attempts})
    end.

%% @doc The updates that this host has performed, in order: identifier of the request, key, value.
-spec history(t()) -> [update()].
history(#host{performed = Performed}) ->
    [maps:get(Sequence, Performed) || Sequence <- lists:seq(1, map_size(Performed))].

%% @doc One update by a user of the last host.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    [{0, lists:last(Members), {call, update, {update, key, <<"value">>}}}].

%% @doc After `ok' two hosts have the update, not counting those that are down: these may have had
%% it. The history of a host is a prefix of that of each host before it.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(#{members := Members, up := Up, replies := Replies, states := States}) ->
    Histories = [history(maps:get(Name, States)) || Name <- Members, lists:member(Name, Up)],
    Needed = 2 - length(Members -- Up),
    Holding = length([ok || [_ | _] <- Histories]),
    case [ok || {_Name, update, ok} <- Replies] of
        [ok] when Holding < Needed ->
            {violated, io_lib:format("acknowledged, but performed by ~b hosts", [Holding])};
        _ ->
            case is_descending(Histories) of
                true -> ok;
                false -> {violated, "a backup has updates that the host before it lacks"}
            end
    end.

%% Internals.

is_descending([First | [Second | _] = Rest]) ->
    lists:prefix(Second, First) andalso is_descending(Rest);
is_descending(_) ->
    true.

%% Sends the request of a user to the primary, as long as there are attempts.
request(Id, #host{users = Users, self = Self} = H) ->
    case Users of
        #{Id := {_, _, _, 0}} ->
            answer(Id, {error, timeout}, H);
        #{Id := {Ref, Key, Value, Attempts}} ->
            Asked = H#host{users = Users#{Id := {Ref, Key, Value, Attempts - 1}}},
            Timer = {start_timer, {request, Id}, H#host.retry},
            case hd(H#host.members) of
                Self ->
                    {Performed, Effects} = perform_first({Id, Key, Value}, Asked),
                    {Performed, Effects ++ [Timer]};
                Primary ->
                    {Asked, [{send, Primary, {request, {Id, Key, Value}}}, Timer]}
            end;
        #{} ->
            {H, []}
    end.

%% The primary performs an update once, however often it is requested.
perform_first({Id, _, _} = Update, #host{self = Self, members = [Self | _]} = H) ->
    case H#host.requests of
        #{Id := Sequence} when Sequence =< H#host.confirmed ->
            % Two hosts have it: only the acknowledgement was lost.
            acknowledge(Id, H);
        #{Id := _} ->
            pass_on(H#host{left = H#host.attempts});
        #{} ->
            perform(Update, H)
    end;
perform_first(_Update, #host{} = H) ->
    % The request was sent before a change of the members; its user sends it again.
    {H, []}.

%% A backup performs the updates in order. One that comes too early is sent again.
perform_next(Request, Sequence, {Id, _, _} = Update, From, #host{performed = Performed} = H0) ->
    case map_size(Performed) of
        Size when Sequence > Size + 1 ->
            {H0, []};
        Size ->
            {H, PassedOn} =
                case Sequence > Size of
                    true -> perform(Update, H0);
                    false -> {H0, []}
                end,
            {Acknowledged, ToUser} =
                case Request of
                    cooperate -> acknowledge(Id, H);
                    backup -> {H, []}
                end,
            % What was performed is durable before it is acknowledged.
            {Acknowledged, PassedOn ++ ToUser ++ [{send, From, {performed, Sequence}}]}
    end.

perform(Update, #host{confirmed = Confirmed} = H0) ->
    H = add(Update, H0),
    case map_size(H#host.performed) of
        Sequence when Sequence =:= Confirmed + 1 ->
            {Passed, Effects} = pass_on(H#host{left = H#host.attempts}),
            {Passed, [persist(H) | Effects]};
        _ ->
            % The successor has not confirmed an earlier one, which is on its way.
            {H, [persist(H)]}
    end.

add({Id, Key, Value} = Update, #host{performed = Performed} = H) ->
    Sequence = map_size(Performed) + 1,
    H#host{
        performed = Performed#{Sequence => Update},
        requests = (H#host.requests)#{Id => Sequence},
        store = (H#host.store)#{Key => Value}
    }.

persist(#host{next = Next} = H) ->
    {persist, {Next, history(H)}}.

%% Sends the oldest update that the successor has not confirmed, and sends it again after a while.
pass_on(#host{performed = Performed, confirmed = Confirmed, left = Left} = H) ->
    case {successor(H), Performed} of
        {Successor, #{Confirmed + 1 := Update}} when Successor =/= none, Left > 0 ->
            Request =
                case hd(H#host.members) of
                    Self when Self =:= H#host.self -> cooperate;
                    _ -> backup
                end,
            {H, [
                {send, Successor, {Request, Confirmed + 1, Update}},
                {start_timer, pass_on, H#host.retry}
            ]};
        _ ->
            {H, [{cancel_timer, pass_on}]}
    end.

acknowledge({Host, _} = Id, #host{self = Host} = H) ->
    answer(Id, ok, H);
acknowledge({Host, _} = Id, #host{} = H) ->
    {H, [{send, Host, {acknowledge, Id}}]}.

answer(Id, Answer, #host{users = Users} = H) ->
    case Users of
        #{Id := {Ref, _, _, _}} ->
            Answered = H#host{users = maps:remove(Id, Users)},
            {Answered, [{cancel_timer, {request, Id}}, {reply, Ref, Answer}]};
        #{} ->
            {H, []}
    end.

successor(#host{self = Self, members = Members}) ->
    after_self(Self, Members).

predecessor(#host{self = Self, members = Members}) ->
    after_self(Self, lists:reverse(Members)).

after_self(Self, Names) ->
    case lists:dropwhile(fun(Name) -> Name =/= Self end, Names) of
        [Self, Next | _] -> Next;
        _ -> none
    end.
