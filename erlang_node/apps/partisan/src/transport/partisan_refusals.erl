%%% @doc Connections that come to nothing: counted, and told in the log with what to fix.
%%%
%%% Strangers may knock as often as they like, and a peer that is set up wrongly tries for ever: a
%%% line for each would fill whatever keeps the log. So each reason is told once a minute at most.
%%% Reasons that tell nothing about the configuration (a scanner's garbage, a peer that has gone)
%%% are counted only.
-module(partisan_refusals).

-export([init/0]).
-export([incoming/2]).
-export([outgoing/2]).
-export([tell/3]).

-type reason() ::
    partisan_handshake:refusal() | partisan_tls:failure().
-export_type([reason/0]).

-define(PERIOD_MS, 60000).

%% @doc Registers the counter; again is a no-op.
-spec init() -> ok.
init() ->
    % By subject, when it was last told.
    Past = erlang:monotonic_time(millisecond) - ?PERIOD_MS,
    Slots = maps:from_list([{Subject, slot(Past)} || Subject <- subjects()]),
    ok = persistent_term:put(?MODULE, Slots),
    partisan_metrics:new(
        counter,
        partisan_refused_connections_total,
        "Incoming connections that did not prove to belong here, by reason.",
        [reason]
    ).

%% @doc This node has refused a connection.
-spec incoming(reason(), From :: {ok, {inet:ip_address(), inet:port_number()}} | {error, term()}) ->
    ok.
incoming(Reason, From) ->
    % Told before it is counted: who looks at the count finds the reason in the log.
    case fixes() of
        #{Reason := Fix} ->
            Arguments = [text(From), Fix],
            tell({incoming, Reason}, "a connection from ~ts is refused: ~ts", Arguments);
        #{} ->
            ok
    end,
    partisan_metrics:inc(partisan_refused_connections_total, [Reason]).

%% @doc A peer could not be dialled; tells of it where that is a matter of configuration.
-spec outgoing(partisan_peer:t(), term()) -> ok.
outgoing(#{name := Name}, {Kind, Reason}) when Kind =:= refused; Kind =:= tls ->
    case fixes() of
        #{Reason := Fix} -> tell({outgoing, Reason}, "~ts cannot be reached: ~ts", [Name, Fix]);
        #{} -> ok
    end;
outgoing(_Peer, _Reason) ->
    ok.

%% @doc Logs a warning, unless there was one about the same subject within the last minute.
-spec tell(credentials | message | {incoming | outgoing, reason()}, io:format(), [term()]) -> ok.
tell(Subject, Format, Arguments) ->
    #{Subject := Slot} = persistent_term:get(?MODULE),
    Last = atomics:get(Slot, 1),
    Now = erlang:monotonic_time(millisecond),
    case Now - Last >= ?PERIOD_MS andalso atomics:compare_exchange(Slot, 1, Last, Now) of
        ok -> logger:warning("partisan: " ++ Format, Arguments);
        _ -> ok
    end.

%% Internals.

subjects() ->
    Reasons = maps:keys(fixes()),
    [credentials, message] ++ [{Way, Reason} || Way <- [incoming, outgoing], Reason <- Reasons].

slot(Time) ->
    Slot = atomics:new(1, []),
    ok = atomics:put(Slot, 1, Time),
    Slot.

%% What "it" is, the other side, has to do with it.
fixes() ->
    #{
        version => "it speaks another version; run the same release on all nodes",
        cluster => "it belongs to another cluster; do the addresses lead where they should?",
        channel => "one side does not have the channel; give all nodes the same channels",
        token => "its token is another; give all nodes of the cluster the same",
        plaintext => "it does not speak TLS; give tls to all nodes of the cluster, or to none",
        unexpected_tls => "it speaks TLS; give tls to all nodes of the cluster, or to none",
        tls_version => "it does not speak TLS 1.3, and nothing older is accepted",
        no_certificate => "it shows no certificate; give it a certfile and a keyfile",
        certificate_expired => "its certificate is not valid now; renew it, or set its clock",
        certificate_name => "its certificate is for another name; issue it for the server_name",
        unknown_ca => "its certificate is of another authority than those in the cacertfile",
        bad_certificate =>
            "its certificate cannot be used; issue it for both server and client authentication",
        refused_by_peer => "it does not accept the certificate of this node; its log says why",
        tls_failure => "no TLS could be agreed upon"
    }.

text({ok, {Address, Port}}) -> [inet:ntoa(Address), $:, integer_to_list(Port)];
text({error, _}) -> "somebody who has gone".
