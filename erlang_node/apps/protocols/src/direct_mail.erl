%%% @doc Direct mail (Demers et al., "Epidemic algorithms for replicated database maintenance",
%%% PODC 1987, section 1.2): the node that makes an update mails it to every other node.
%%%
%%% It is as reliable as the mail: a lost message is a node without the update, and the sender does
%%% not notice. With `acknowledged' it sends until every node has confirmed, at most `attempts'
%%% times; then the answer names the nodes that may lack the update.
%%%
%%% == Requests ==
%%% `{broadcast, Value}' is answered by `ok', or with `acknowledged' by
%%% `{error, {unacknowledged, [name()]}}' when attempts run out. Each node delivers the value once.
%%%
%%% == Options ==
%%% <ul>
%%% <li>`acknowledged': whether mail is confirmed and sent again; `false'</li>
%%% <li>`retry': milliseconds between attempts; 1,000</li>
%%% <li>`attempts': how often mail is sent at most; 5</li>
%%% </ul>
-module(direct_mail).

-behaviour(partisan_process).

-export([init/1]).
-export([handle/2]).
-export([scenario/1]).
-export([verdict/1]).
-export([symmetry/1]).

-type name() :: partisan_process:name().
-type id() :: {Origin :: name(), pos_integer()}.

-record(sent, {
    ref :: term(),
    value :: term(),
    % Who has not confirmed it.
    awaited :: [name()],
    attempts :: non_neg_integer()
}).

-record(mail, {
    self :: name(),
    others :: [name()],
    acknowledged :: boolean(),
    retry :: pos_integer(),
    attempts :: pos_integer(),
    next = 1 :: pos_integer(),
    received = #{} :: #{id() => []},
    sent = #{} :: #{id() => #sent{}}
}).

%% @private
-spec init(partisan_process:options()) -> {#mail{}, [partisan_process:effect()]}.
init(#{self := Self, members := Members} = Options) ->
    {Next, Received} = maps:get(persisted, Options, {1, #{}}),
    Mail = #mail{
        self = Self,
        others = lists:delete(Self, Members),
        acknowledged = maps:get(acknowledged, Options, false),
        retry = maps:get(retry, Options, 1000),
        attempts = maps:get(attempts, Options, 5),
        next = Next,
        received = Received
    },
    {Mail, []}.

%% @private
-spec handle(partisan_process:event(), #mail{}) -> {#mail{}, [partisan_process:effect()]}.
handle({call, Ref, {broadcast, Value}}, #mail{self = Self, next = Next, others = Others} = M0) ->
    Id = {Self, Next},
    M = M0#mail{next = Next + 1},
    Begun = [persist(M), {deliver, Value}],
    case M of
        #mail{acknowledged = true} when Others =/= [] ->
            Sent = #sent{ref = Ref, value = Value, awaited = Others, attempts = M#mail.attempts},
            {M1, Effects} = mail(Id, Sent, M),
            {M1, Begun ++ Effects};
        #mail{} ->
            Mails = [{send, Other, {mail, Id, Value}} || Other <- Others],
            {M, Begun ++ Mails ++ [{reply, Ref, ok}]}
    end;
handle({message, From, {mail, Id, Value}}, #mail{received = Received} = M0) ->
    % Confirmed again when it comes again: the first confirmation may be lost.
    Confirm = [{send, From, {confirm, Id}} || M0#mail.acknowledged],
    case Received of
        #{Id := _} ->
            {M0, Confirm};
        #{} ->
            M = M0#mail{received = Received#{Id => []}},
            {M, [persist(M), {deliver, Value} | Confirm]}
    end;
handle({message, From, {confirm, Id}}, #mail{sent = Sent} = M) ->
    case Sent of
        #{Id := #sent{awaited = [From], ref = Ref}} ->
            {M#mail{sent = maps:remove(Id, Sent)}, [{cancel_timer, Id}, {reply, Ref, ok}]};
        #{Id := #sent{awaited = Awaited} = S} ->
            {M#mail{sent = Sent#{Id := S#sent{awaited = lists:delete(From, Awaited)}}}, []};
        #{} ->
            {M, []}
    end;
handle({timer, Id}, #mail{sent = Sent} = M) ->
    case Sent of
        #{Id := #sent{attempts = 0, ref = Ref, awaited = Awaited}} ->
            Error = {error, {unacknowledged, Awaited}},
            {M#mail{sent = maps:remove(Id, Sent)}, [{reply, Ref, Error}]};
        #{Id := #sent{} = S} ->
            mail(Id, S, M)
    end;
handle({members, Members}, #mail{self = Self} = M) ->
    {M#mail{others = lists:delete(Self, Members)}, []}.

%% @doc See {@link dissemination}.
-spec scenario([name()]) -> [{non_neg_integer(), name(), partisan_process:event()}].
scenario(Members) ->
    dissemination:scenario(Members).

%% @doc See {@link dissemination:complete/1}.
-spec verdict(partisan_process:outcome()) -> ok | {violated, iodata()}.
verdict(Outcome) ->
    dissemination:complete(Outcome).

%% @doc All members.
-spec symmetry([name()]) -> [[name()]].
symmetry(Members) ->
    [Members].

%% Internals.

persist(#mail{next = Next, received = Received}) ->
    {persist, {Next, Received}}.

%% Mails the update to those who have not confirmed it.
mail(Id, #sent{value = Value, awaited = Awaited, attempts = Attempts} = S, #mail{} = M) ->
    Mails = [{send, Other, {mail, Id, Value}} || Other <- Awaited],
    {
        M#mail{sent = (M#mail.sent)#{Id => S#sent{attempts = Attempts - 1}}},
        Mails ++ [{start_timer, Id, M#mail.retry}]
    }.
