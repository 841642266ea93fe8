%%% @doc Discovery of seeds without an operator: by DNS records, or in a file.
%%%
%%% A pure module: it turns an answer into seeds, and decides whether they are new. {@link
%%% partisan_discovery_server} asks.
%%%
%%% Every node must come to the same few seeds, or groups would form around different ones. So the
%%% answer is put in order, and the first `seeds' of it are used.
%%%
%%% == Names ==
%%% A connection is refused unless the dialled node has the expected name, so an answer must name
%%% the nodes:
%%% <ul>
%%% <li>`{srv, Name}': a node is called like the first label of its host name, `ads-0' for
%%%   `ads-0.ads.example'; lower priorities come first;</li>
%%% <li>`{a, Name}', `{aaaa, Name}': a node is called like its address ({@link name/1});</li>
%%% <li>a file: lines `NAME HOST' or `NAME HOST PORT', in order of preference; `#' begins a comment.
%%%   </li>
%%% </ul>
-module(partisan_discovery).

-export([is_valid/1]).
-export([name/1]).
-export([interval/1]).
-export([records/2]).
-export([parse/2]).
-export([decide/3]).

-type options() :: #{
    % One of these two.
    dns => {a | aaaa | srv, Name :: string()},
    file => file:name_all(),
    % Of nodes whose port the answer does not say.
    port => inet:port_number(),
    % Nodes that serve as seeds, at most.
    seeds => pos_integer(),
    % Milliseconds between two questions.
    interval => pos_integer(),
    % Of the system, unless given.
    nameservers => [{inet:ip_address(), inet:port_number()}]
}.
-type data() ::
    inet:ip_address() | {Priority :: 0..65535, Weight :: 0..65535, inet:port_number(), string()}.
-type answer() :: {ok, [partisan_peer:t()]} | {error, Description :: string()}.
-export_type([options/0, data/0, answer/0]).

%% @doc Whether a value of the setting `discovery' can be used.
-spec is_valid(term()) -> boolean().
is_valid(none) ->
    true;
is_valid(#{dns := _, file := _}) ->
    false;
is_valid(#{dns := {Type, Name}} = Given) ->
    lists:member(Type, [a, aaaa, srv]) andalso is_text(Name) andalso
        are_options(maps:remove(dns, Given));
is_valid(#{file := File} = Given) ->
    (is_text(File) orelse (is_binary(File) andalso File =/= <<>>)) andalso
        are_options(maps:without([file], Given)) andalso not is_map_key(nameservers, Given);
is_valid(_) ->
    false.

%% @doc The name of a node in a cluster that is discovered by its addresses: `<<"10.0.0.3">>'.
-spec name(inet:ip_address()) -> partisan_peer:name().
name(Ip) ->
    list_to_binary(inet:ntoa(Ip)).

%% @doc Milliseconds between two questions.
-spec interval(options()) -> pos_integer().
interval(Options) ->
    maps:get(interval, Options, 10000).

%% @doc The nodes that DNS records describe, in an order that is the same on every node.
-spec records([data()], options()) -> answer().
records(Records, Options) ->
    {ok, [Peer || {_, Peer} <- lists:usort([record(Data, Options) || Data <- Records])]}.

%% @doc The nodes that a file lists, in its order; or the line that is wrong.
-spec parse(binary(), options()) -> answer().
parse(Text, Options) ->
    Lines = binary:split(Text, <<"\n">>, [global]),
    try
        Peers = [
            peer(Words, Number, Options)
         || {Number, Line} <- lists:zip(lists:seq(1, length(Lines)), Lines),
            [_ | _] = Words <- [words(Line)]
        ],
        {ok, Peers}
    catch
        throw:{line, Number} ->
            {error, lists:flatten(io_lib:format("line ~b must be NAME HOST [PORT]", [Number]))}
    end.

%% @doc The seeds to use from now on, if they are others than the present ones. An empty answer
%% leaves these in use: the nodes it does not name may be reachable.
-spec decide(answer(), Present :: [partisan_peer:t()], options()) ->
    {use, [partisan_peer:t()]} | keep | {keep, Why :: string()}.
decide({ok, []}, _Present, _Options) ->
    {keep, "no nodes are listed"};
decide({ok, Peers}, Present, Options) ->
    case lists:sublist(without_repetitions(Peers), maps:get(seeds, Options, 5)) of
        Present -> keep;
        Seeds -> {use, Seeds}
    end;
decide({error, Text}, _Present, _Options) ->
    {keep, Text}.

%% Internals.

are_options(Options) ->
    lists:all(fun is_option/1, maps:to_list(Options)).

is_option({port, Port}) ->
    is_port_number(Port);
is_option({nameservers, Servers}) ->
    is_list(Servers) andalso lists:all(fun is_server/1, Servers);
is_option({Name, Value}) ->
    lists:member(Name, [seeds, interval]) andalso is_integer(Value) andalso Value >= 1.

is_server({Ip, Port}) -> inet:is_ip_address(Ip) andalso is_port_number(Port);
is_server(_) -> false.

is_port_number(Port) ->
    is_integer(Port) andalso Port >= 1 andalso Port =< 65535.

is_text(Text) ->
    Text =/= "" andalso io_lib:printable_unicode_list(Text).

%% With the key by which it is ordered.
record({Priority, _Weight, Port, Host}, _Options) when is_list(Host) ->
    [Label | _] = string:split(Host, "."),
    Name = list_to_binary(string:lowercase(Label)),
    {{Priority, Name}, partisan_peer:new(Name, Host, Port)};
record(Ip, Options) ->
    {Ip, partisan_peer:new(name(Ip), Ip, port(Options))}.

words(Line) ->
    [Content | _] = binary:split(Line, <<"#">>),
    string:lexemes(binary_to_list(Content), " \t\r").

peer([Name, Host], Number, Options) ->
    peer([Name, Host, integer_to_list(port(Options))], Number, Options);
peer([Name, Host, Port], Number, _Options) ->
    case string:to_integer(Port) of
        {Value, ""} when Value >= 1, Value =< 65535 ->
            partisan_peer:new(list_to_binary(Name), address(Host), Value);
        _ ->
            throw({line, Number})
    end;
peer(_Words, Number, _Options) ->
    throw({line, Number}).

address(Host) ->
    case inet:parse_strict_address(Host) of
        {ok, Ip} -> Ip;
        {error, einval} -> Host
    end.

port(Options) ->
    maps:get(port, Options, partisan_config:default(listen_port)).

without_repetitions(Peers) ->
    lists:foldr(fun(Peer, Later) -> [Peer | partisan_peer:without([Peer], Later)] end, [], Peers).
