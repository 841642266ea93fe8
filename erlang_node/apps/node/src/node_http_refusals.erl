%%% @doc Refused HTTP connections and requests: each counted, and logged once a minute per reason,
%%% since any client that reaches the port can cause any number of them.
-module(node_http_refusals).

-export([register_metric/0]).
-export([new/0]).
-export([refused/4]).

-include_lib("kernel/include/logger.hrl").

-define(PERIOD_MS, 60000).
-define(METRIC, partisan_http_refused_total).

-type reason() ::
    % Displaced by a newer connection before its request arrived.
    displaced
    % No room, or too many concurrent requests.
    | busy
    % The request did not arrive in time.
    | too_slow
    | too_large
    | malformed
    | unauthorized
    % TLS negotiation failed.
    | tls.
%% When each reason was logged last, and how often it has occurred since.
-opaque t() :: #{reason() => {Milliseconds :: integer(), non_neg_integer()}}.
-export_type([t/0, reason/0]).

%% @doc Registers the counter. Idempotent.
-spec register_metric() -> ok.
register_metric() ->
    partisan_metrics:new(
        counter,
        ?METRIC,
        "Refused HTTP connections and requests, by reason.",
        [reason]
    ).

%% @doc The state before anything was logged.
-spec new() -> t().
new() ->
    #{}.

%% @doc Counts a refusal, and logs it unless one of the same reason was logged within a minute.
-spec refused(reason(), inet:ip_address() | undefined, Now :: integer(), t()) -> t().
refused(Reason, Source, Now, Refusals) ->
    ok = partisan_metrics:inc(?METRIC, [Reason]),
    case Refusals of
        #{Reason := {Last, More}} when Now - Last < ?PERIOD_MS ->
            Refusals#{Reason := {Last, More + 1}};
        #{Reason := {_, More}} ->
            log(Reason, Source, More, Now, Refusals);
        #{} ->
            log(Reason, Source, 0, Now, Refusals)
    end.

%% Internals.

log(Reason, Source, More, Now, Refusals) ->
    ?LOG_WARNING(#{
        event => http_refused,
        reason => Reason,
        source => source(Source),
        text => text(Reason),
        unlogged_since_last => More
    }),
    Refusals#{Reason => {Now, 0}}.

source(undefined) -> <<"unknown">>;
source(Address) -> list_to_binary(inet:ntoa(Address)).

text(displaced) -> <<"too many connections without a complete request">>;
text(busy) -> <<"too many concurrent requests">>;
text(too_slow) -> <<"the request did not arrive in time">>;
text(too_large) -> <<"the request is too large">>;
text(malformed) -> <<"the request is malformed">>;
text(unauthorized) -> <<"wrong or missing bearer">>;
text(tls) -> <<"TLS negotiation failed">>.
