%%% @doc Refused and failed connections: counted, and logged with what to fix.
%%%
%%% Unauthenticated peers may connect as often as they like, and a misconfigured peer retries for
%%% ever; a line for each would fill the log. So each reason is logged at most once a minute.
%%% Reasons unrelated to the configuration (a scanner's garbage, a peer that has gone) are only
%%% counted.
-module(partisan_refusals).

-export([init/0]).
-export([incoming/2]).
-export([outgoing/2]).
-export([warn/3]).

-type reason() ::
    partisan_handshake:refusal() | partisan_tls:failure().
-type subject() ::
    credentials
    | seed
    | message
    | execution
    | discovery
    | handler
    | {incoming | outgoing, reason()}.
-export_type([reason/0, subject/0]).

-define(PERIOD_MS, 60000).
%% Time to reach a seed before the first warning.
-define(SEEDS_MS, 30000).

%% @doc Registers the counter. Idempotent.
-spec init() -> ok.
init() ->
    % By subject, when it was last logged.
    Past = erlang:monotonic_time(millisecond) - ?PERIOD_MS,
    Slots = maps:from_list([{Subject, slot(Past)} || Subject <- subjects()]),
    % Nodes that start together wait for one another.
    ok = atomics:add(map_get(seed, Slots), 1, ?SEEDS_MS),
    ok = persistent_term:put(?MODULE, Slots),
    partisan_metrics:new(
        counter,
        partisan_refused_connections_total,
        "Incoming connections refused, by reason.",
        [reason]
    ).

%% @doc Counts and logs a connection refused by this node.
-spec incoming(reason(), From :: {ok, {inet:ip_address(), inet:port_number()}} | {error, term()}) ->
    ok.
incoming(Reason, From) ->
    % Logged before it is counted: once the count shows it, the log has the reason.
    case fixes() of
        #{Reason := Fix} ->
            Arguments = [text(From), Fix],
            warn({incoming, Reason}, "connection from ~ts refused: ~ts", Arguments);
        #{} ->
            ok
    end,
    partisan_metrics:inc(partisan_refused_connections_total, [Reason]).

%% @doc Logs a failed dial if its cause is the configuration.
-spec outgoing(partisan_peer:t(), term()) -> ok.
outgoing(#{name := Name}, {Kind, Reason}) when Kind =:= refused; Kind =:= tls ->
    case fixes() of
        #{Reason := Fix} -> warn({outgoing, Reason}, "cannot connect to ~ts: ~ts", [Name, Fix]);
        #{} -> ok
    end;
outgoing(#{name := Name, host := Host, port := Port}, Reason) ->
    % A peer that was reached before comes and goes; a node that never gets in needs help.
    #{joined := Joined} = partisan_view:info(),
    case Joined orelse not is_seed(Name) of
        true ->
            ok;
        false ->
            Arguments = [Name, host(Host), Port, unreached(Reason)],
            warn(seed, "cannot reach the seed ~ts at ~ts, port ~b: ~ts", Arguments)
    end.

%% @doc Logs a warning, at most one per subject and minute.
-spec warn(subject(), io:format(), [term()]) -> ok.
warn(Subject, Format, Arguments) ->
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
    [credentials, seed, message, execution, discovery, handler] ++
        [{Way, Reason} || Way <- [incoming, outgoing], Reason <- Reasons].

slot(Time) ->
    Slot = atomics:new(1, []),
    ok = atomics:put(Slot, 1, Time),
    Slot.

%% "It" is the other side.
fixes() ->
    #{
        version => "it speaks another version; run the same release on all nodes",
        cluster => "it belongs to another cluster; check the addresses",
        channel => "one side lacks the channel; configure the same channels on all nodes",
        token => "its token differs; configure the same token on all nodes of the cluster",
        plaintext => "it does not speak TLS; configure tls on all nodes of the cluster, or on none",
        unexpected_tls => "it speaks TLS; configure tls on all nodes of the cluster, or on none",
        tls_version => "it does not speak TLS 1.3, and nothing older is accepted",
        no_certificate => "it presents no certificate; configure its certfile and keyfile",
        certificate_expired => "its certificate is not valid now; renew it, or set its clock",
        certificate_name => "its certificate is for another name; issue it for the server_name",
        unknown_ca => "its certificate is not signed by an authority in the cacertfile",
        bad_certificate =>
            "its certificate cannot be used; issue it for both server and client authentication",
        refused_by_peer => "it rejects the certificate of this node; see its log",
        tls_failure => "TLS negotiation failed"
    }.

is_seed(Name) ->
    lists:any(fun(#{name := Seed}) -> Seed =:= Name end, partisan_config:get(seeds)).

host(Host) when is_tuple(Host) -> inet:ntoa(Host);
host(Host) -> Host.

unreached(nxdomain) -> "its name does not resolve; check the name, and that the seed exists";
unreached(econnrefused) -> "nothing listens there; check the port, and that the seed is running";
unreached(timeout) -> "it does not answer; check the address, and firewalls on the way";
unreached(Reason) when is_atom(Reason) -> inet:format_error(Reason);
unreached(Reason) -> io_lib:format("~0p", [Reason]).

text({ok, {Address, Port}}) -> [inet:ntoa(Address), $:, integer_to_list(Port)];
text({error, _}) -> "a peer that has gone".
