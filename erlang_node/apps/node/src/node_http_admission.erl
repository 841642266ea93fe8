%%% @doc Admission of connections to the HTTP server, as a value.
%%%
%%% A connection is first *reading*: its request has not arrived. Then it is *answering*; probes do
%%% so on capacity of their own.
%%%
%%% ```
%%%  connections of one source              connections of all sources
%%%  |<--------- per_source ---------->|    |<---------------- total ----------------->|
%%%  |<--- requests --->|  reading,    |    |<------ requests ------>|  reading,       |
%%%  |                  |  probes      |    |                        |  probes         |
%%% '''
%%%
%%% == Why slow clients cannot keep probes out ==
%%% At a limit a new connection displaces the oldest one still reading, of its own source first. A
%%% kubelet sends its request with the connection, so it has been read long before that many others
%%% have come. Requests other than probes never fill either limit, so there is always room or a
%%% connection to displace. A probe that asks to wait does so only while few others wait; otherwise
%%% it is answered at once.
%%%
%%% The identity of a source never matters: a kubelet's address depends on the network plugin, and
%%% may be shared with others.
-module(node_http_admission).

-export([new/1]).
-export([arrive/2]).
-export([ask/3]).
-export([gone/2]).
-export([source/2]).

-type limits() :: #{
    total := pos_integer(),
    per_source := pos_integer(),
    % Requests that are no probes and are being answered: of all sources, and of one.
    requests := pos_integer(),
    source_requests := pos_integer(),
    % Waiting probes.
    waiting := pos_integer()
}.
-type source() :: term().
%% Ascending: the oldest connection has the least.
-type key() :: pos_integer().
-type class() :: request | probe.
-type phase() :: reading | request | probe | waiting.

-record(admission, {
    limits :: limits(),
    next = 1 :: key(),
    connections = #{} :: #{key() => {source(), phase()}}
}).

-opaque t() :: #admission{}.
-export_type([t/0, key/0, limits/0, class/0, source/0]).

%% @doc No connections.
-spec new(limits()) -> t().
new(Limits) ->
    #admission{limits = Limits}.

%% @doc Handles a new connection of a source: admitted, possibly displacing another, or refused.
-spec arrive(source(), t()) -> {admit, key(), Displaced :: none | key(), t()} | refuse.
arrive(Source, #admission{limits = Limits, connections = Connections} = Admission) ->
    #{total := Total, per_source := PerSource} = Limits,
    Own = maps:filter(fun(_, {From, _}) -> From =:= Source end, Connections),
    case {map_size(Own) >= PerSource, map_size(Connections) >= Total} of
        {true, _} -> displace(oldest_reading(Own), Source, Admission);
        {false, true} -> displace(oldest_reading(Connections), Source, Admission);
        {false, false} -> admit(Source, none, Admission)
    end.

%% @doc Handles a connection's request. `at_once': answer without waiting for anything; `busy':
%% refuse the request.
-spec ask(key(), class(), t()) -> {go | at_once | busy, t()}.
ask(Key, probe, #admission{limits = #{waiting := Most}} = Admission) ->
    case length(in_phase(waiting, Admission)) < Most of
        true -> {go, enter(waiting, Key, Admission)};
        false -> {at_once, enter(probe, Key, Admission)}
    end;
ask(Key, request, #admission{limits = Limits, connections = Connections} = Admission) ->
    #{requests := Most, source_requests := MostOfSource} = Limits,
    #{Key := {Source, _}} = Connections,
    Requests = in_phase(request, Admission),
    Own = [From || From <- Requests, From =:= Source],
    case length(Requests) < Most andalso length(Own) < MostOfSource of
        true -> {go, enter(request, Key, Admission)};
        false -> {busy, Admission}
    end.

%% @doc Handles the end of a connection.
-spec gone(key(), t()) -> t().
gone(Key, #admission{connections = Connections} = Admission) ->
    Admission#admission{connections = maps:remove(Key, Connections)}.

%% @doc The source of a connection.
-spec source(key(), t()) -> source().
source(Key, #admission{connections = Connections}) ->
    #{Key := {Source, _}} = Connections,
    Source.

%% Internals.

displace(none, _Source, _Admission) -> refuse;
displace(Key, Source, Admission) -> admit(Source, Key, gone(Key, Admission)).

admit(Source, Displaced, #admission{next = Key, connections = Connections} = Admission) ->
    Admitted = Connections#{Key => {Source, reading}},
    {admit, Key, Displaced, Admission#admission{next = Key + 1, connections = Admitted}}.

oldest_reading(Connections) ->
    lists:min([none | [Key || {Key, {_, reading}} <- maps:to_list(Connections)]]).

in_phase(Phase, #admission{connections = Connections}) ->
    [Source || {Source, In} <- maps:values(Connections), In =:= Phase].

enter(Phase, Key, #admission{connections = Connections} = Admission) ->
    #{Key := {Source, _}} = Connections,
    Admission#admission{connections = Connections#{Key := {Source, Phase}}}.
