%%% @doc A node of Distributed Erlang's mesh; it reports its view over HTTP as a node of ours does.
%%%
%%% Started by `erl -start_epmd false -erl_epmd_port PORT -run bench_mesh main SELF CONTACT...',
%%% where each argument is `NAME@ADDRESS', the first one this node's. It connects to its contacts
%%% until it has them all; `global' connects it to the others, unless it is switched off.
-module(bench_mesh).

-export([main/1]).
-export([answer/0]).

-define(HTTP_PORT, 8080).
-define(RETRY_MS, 200).

%% @doc Runs until the machine is ended.
-spec main([string()]) -> no_return().
main([Self | Contacts]) ->
    Node = list_to_atom(Self),
    [_, Host] = string:split(Self, "@"),
    {ok, Ip} = inet:parse_strict_address(Host),
    ok = application:set_env(kernel, inet_dist_use_interface, Ip),
    {ok, _} = net_kernel:start([Node, longnames]),
    true = erlang:set_cookie(bench),
    Options = [binary, {ip, Ip}, {active, false}, {packet, http_bin}, {reuseaddr, true}],
    {ok, Listener} = gen_tcp:listen(?HTTP_PORT, Options),
    _ = spawn_link(fun() -> connect([list_to_atom(Contact) || Contact <- Contacts]) end),
    serve(Listener).

%% @doc The view of this node as JSON, with the keys of a node of ours.
-spec answer() -> iodata().
answer() ->
    Active = lists:join($,, [name(Node) || Node <- nodes()]),
    ["{\"node\":", name(node()), ",\"joined\":true,\"active\":[", Active, "],\"otp\":\"",
        erlang:system_info(otp_release), "\"}"].

%% Internals.

name(Node) ->
    [Name, _] = string:split(atom_to_list(Node), "@"),
    [$", Name, $"].

connect([]) ->
    ok;
connect(Contacts) ->
    case [Contact || Contact <- Contacts, not net_kernel:connect_node(Contact)] of
        [] ->
            ok;
        Missing ->
            ok = timer:sleep(?RETRY_MS),
            connect(Missing)
    end.

-spec serve(gen_tcp:socket()) -> no_return().
serve(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    _ = reply(Socket),
    ok = gen_tcp:close(Socket),
    serve(Listener).

%% Whatever was asked; a client that goes is no error.
reply(Socket) ->
    case gen_tcp:recv(Socket, 0, 5000) of
        {ok, http_eoh} ->
            Body = answer(),
            gen_tcp:send(Socket, [
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ",
                integer_to_list(iolist_size(Body)), "\r\n\r\n", Body
            ]);
        {ok, _} ->
            reply(Socket);
        {error, _} = Error ->
            Error
    end.
