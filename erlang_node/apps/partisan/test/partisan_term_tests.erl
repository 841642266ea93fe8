%% Any term comes back equal, and large binaries are sub-binaries of the input.
-module(partisan_term_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

%% On a node.
-export([decode_often/1]).

-define(LARGE, 16384).

any_term_with_large_binaries_comes_back_equal_test_() ->
    {timeout, 600, fun any_term_with_large_binaries_comes_back_equal/0}.

any_term_with_large_binaries_comes_back_equal() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(Term, term_with_large(), {ok, Term} =:= there_and_back(Term)),
            [quiet, {numtests, 500}]
        )
    ).

large_binaries_are_not_copied_test_() ->
    Large = large(7),
    [
        {Title, fun() ->
            Encoded = iolist_to_binary(partisan_term:encode(Term)),
            {ok, Decoded} = partisan_term:decode(Encoded),
            ?assertEqual(Term, Decoded),
            % A sub-binary refers to the whole input.
            ?assertEqual(byte_size(Encoded), binary:referenced_byte_size(Find(Decoded)))
        end}
     || {Title, Term, Find} <- [
            {"alone", Large, fun(T) -> T end},
            {"in a call", {call, [x, #{key => {Large}}]}, fun({_, [_, #{key := {B}}]}) -> B end},
            {"one of two", [Large, Large], fun([_, B]) -> B end},
            {"before an improper tail", [Large | tail], fun([B | tail]) -> B end}
        ]
    ].

a_binary_not_found_is_copied_test_() ->
    Large = large(3),
    [
        {Title, ?_assertEqual({ok, Term}, there_and_back(Term))}
     || {Title, Term} <- [
            {"a tail", [a | Large]},
            {"a key", #{Large => 1}},
            {"bits", <<Large/binary, 1:3>>},
            {"after many", lists:seq(1, 10000) ++ [Large]},
            {"many", lists:duplicate(300, Large)}
        ]
    ].

%% From a faulty member: a nested term in place of a node's name must not be followed.
nested_processes_cost_no_memory_test_() ->
    {timeout, 600, fun nested_processes_cost_no_memory/0}.

nested_processes_cost_no_memory() ->
    Nested = binary:copy(<<88>>, 2 bsl 20),
    Limit = #{size => 2 bsl 20, kill => true, error_logger => false},
    {_, Monitor} = spawn_opt(
        fun() ->
            error = partisan_external:elements(<<131, 104, 1, Nested/binary>>),
            error = partisan_external:new_atoms(<<131, Nested/binary>>, 1)
        end,
        [monitor, {max_heap_size, Limit}]
    ),
    receive
        {'DOWN', Monitor, process, _, Reason} -> ?assertEqual(normal, Reason)
    end.

%% On a node of its own, which ends if its heap is corrupted: the number is one of those that take
%% less room than was allocated for them.
a_term_of_empty_lists_does_not_end_the_virtual_machine_test_() ->
    {timeout, 600, fun a_term_of_empty_lists_does_not_end_the_virtual_machine/0}.

a_term_of_empty_lists_does_not_end_the_virtual_machine() ->
    Net = partisan_test_cluster:net(),
    Configuration = partisan_test_cluster:configuration(Net, 1, #{}),
    Node = partisan_test_cluster:start_bare(Net, Configuration),
    Encoded = iolist_to_binary(partisan_term:encode({lists:duplicate(1000, []), 1 bsl 40})),
    ?assertEqual(ok, partisan_test_cluster:call(Node, ?MODULE, decode_often, [Encoded])),
    ok = partisan_test_cluster:stop([Node]).

%% With any number of reductions left, and all that was decoded kept.
decode_often(Encoded) ->
    Decode = fun() -> [partisan_term:decode(Encoded) || _ <- lists:seq(1, 5000)] end,
    Started = [spawn_monitor(fun() -> [{ok, _} | _] = Decode() end) || _ <- lists:seq(1, 20)],
    lists:foreach(
        fun({Pid, Monitor}) ->
            receive
                {'DOWN', Monitor, process, Pid, Reason} -> normal = Reason
            end
        end,
        Started
    ).

a_small_term_is_its_external_format_test() ->
    Term = {sink, [hello, <<"world">>]},
    ?assertEqual(term_to_binary(Term), iolist_to_binary(partisan_term:encode(Term))).

a_large_term_with_a_new_atom_comes_back_equal_test_() ->
    {timeout, 600, fun a_large_term_with_a_new_atom_comes_back_equal/0}.

a_large_term_with_a_new_atom_comes_back_equal() ->
    % A third of its bytes is more than half of the atom table has entries.
    Term = {1, two, 3.0, [four], #{5 => six}},
    Many = lists:duplicate(erlang:system_info(atom_limit) div 8, Term),
    New = <<"an atom that is new to this node, ", (random_text())/binary>>,
    ?assertError(badarg, binary_to_existing_atom(New)),
    Encoded = with_new_atom(New, Many),
    ?assertError(badarg, binary_to_existing_atom(New)),
    {ok, {Atom, Decoded}} = partisan_term:decode(Encoded),
    ?assertEqual(New, atom_to_binary(Atom)),
    ?assert(Decoded =:= Many).

too_many_new_atoms_are_refused_test_() ->
    {timeout, 600, fun too_many_new_atoms_are_refused/0}.

too_many_new_atoms_are_refused() ->
    Free = erlang:system_info(atom_limit) div 2 - erlang:system_info(atom_count),
    Count = Free + 100,
    Before = erlang:system_info(atom_count),
    Salt = random_text(),
    Atoms = [
        <<119, (byte_size(Name)), Name/binary>>
     || N <- lists:seq(1, Count), Name <- [<<Salt/binary, (integer_to_binary(N))/binary>>]
    ],
    Encoded = iolist_to_binary([<<131, 108, Count:32>>, Atoms, 106]),
    ?assertEqual(error, partisan_term:decode(Encoded)),
    ?assert(erlang:system_info(atom_count) < Before + 100).

new_atoms_are_counted_in_any_term_test_() ->
    {timeout, 600, fun new_atoms_are_counted_in_any_term/0}.

new_atoms_are_counted_in_any_term() ->
    ?assert(
        proper:quickcheck(
            ?FORALL(
                Term,
                any_term(),
                begin
                    External = term_to_binary(Term),
                    few =:= partisan_external:new_atoms(External, 0) andalso
                        many =:= partisan_external:new_atoms(
                            with_new_atom(random_text(), Term), 0
                        ) andalso
                        {ok, [External, term_to_binary(x)]} =:=
                            partisan_external:elements(term_to_binary({Term, x}))
                end
            ),
            [quiet, {numtests, 500}]
        )
    ).

holes_that_lead_nowhere_are_refused_test_() ->
    [
        {lists:flatten(io_lib:format("~0P ~0P", [Skeleton, 9, Holes, 9])),
            ?_assertEqual(error, decode(Skeleton, Holes, <<1, 2, 3>>))}
     || {Skeleton, Holes} <- [
            {{a}, [{[2], 3}]},
            {{a}, [{[0], 3}]},
            {{a}, [{[1, 1], 3}]},
            {#{a => 1}, [{[b], 3}]},
            {[a], [{[2], 3}]},
            {[a], [{[0], 3}]},
            {[a], [{[x], 3}]},
            {{a}, [{[1], 2}]},
            {{a}, [{[1], 4}]},
            {{a}, [{[1], -1}]},
            {{a}, [{[1], x}]},
            {{a}, [{1, 3}]},
            {{a}, [x]},
            {{a}, x},
            {{a}, lists:duplicate(257, {[1], 0}) ++ [{[1], 3}]},
            {{a}, [{[1], 3} | x]},
            {{a}, []}
        ]
    ].

damaged_and_nested_formats_are_refused_test() ->
    ?assertEqual(error, partisan_term:decode(<<0, 4:32, 0, 0, 0, 0>>)),
    ?assertEqual(error, partisan_term:decode(<<0, 4:32, 1>>)),
    ?assertEqual(error, partisan_term:decode(<<>>)).

decode(Skeleton, Holes, Binaries) ->
    Head = term_to_binary({Skeleton, Holes}),
    partisan_term:decode(<<0, (byte_size(Head)):32, Head/binary, Binaries/binary>>).

%% {Atom, Term} without the atom.
with_new_atom(Name, Term) ->
    <<131, External/binary>> = term_to_binary(Term),
    <<131, 104, 2, 119, (byte_size(Name)), Name/binary, External/binary>>.

random_text() ->
    binary:encode_hex(crypto:strong_rand_bytes(16)).

%% Also terms that `any/0' does not generate.
any_term() ->
    Bound = make_ref(),
    {
        any(),
        oneof([
            self(),
            make_ref(),
            hd(erlang:ports()),
            fun lists:map/2,
            fun() -> Bound end,
            1.5,
            1 bsl 100,
            -(1 bsl 3000),
            <<5:3>>,
            lists:seq(1, 300),
            [a | b],
            #{x => [y], <<"z">> => {}},
            list_to_tuple(lists:seq(1, 300))
        ])
    }.

there_and_back(Term) ->
    partisan_term:decode(iolist_to_binary(partisan_term:encode(Term))).

term_with_large() ->
    ?SIZED(Size, term_with_large(Size)).

term_with_large(0) ->
    oneof([any(), ?LET(Byte, byte(), large(Byte)), <<>>]);
term_with_large(Size) ->
    Smaller = term_with_large(Size div 3),
    oneof([
        term_with_large(0),
        {Smaller, Smaller},
        [Smaller, Smaller, Smaller],
        [Smaller | Smaller],
        ?LET({K1, V1, K2, V2}, {any(), Smaller, any(), Smaller}, #{K1 => V1, K2 => V2})
    ]).

large(Byte) ->
    binary:copy(<<Byte>>, ?LARGE + Byte).
