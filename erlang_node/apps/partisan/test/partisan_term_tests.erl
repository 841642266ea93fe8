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
            [{to_file, user}, {numtests, 500}]
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

%% Without the bytes that are added, decoding must be sure not to be interrupted.
steps_are_never_taken_for_fewer_test_() ->
    {timeout, 600, fun steps_are_never_taken_for_fewer/0}.

steps_are_never_taken_for_fewer() ->
    Terms = [mostly_empty_lists(4) || _ <- lists:seq(1, 20000)],
    Few = [T || T <- Terms, partisan_external:has_fewer_steps_than_bytes(term_to_binary(T))],
    ?assertMatch([_, _ | _], Few),
    ?assertEqual([], [T || T <- Few, steps(T) >= byte_size(term_to_binary(T))]).

what_is_known_of_steps_test_() ->
    [
        {Title, ?_assertEqual(Known, partisan_external:has_fewer_steps_than_bytes(External))}
     || {Title, Known, External} <- [
            {"a message with a binary", true, term_to_binary({forward, sink, <<106:8000/unit:1>>})},
            {"a call", true, term_to_binary({call, {name, <<"ads-1">>}, [x, #{key => []}], 17})},
            {"empty lists", false, term_to_binary(lists:duplicate(100, []))},
            {"after atoms", false, term_to_binary({sink, hello, lists:duplicate(100, [])})},
            {"many parts", false, term_to_binary(lists:seq(300, 400))},
            % Each has four bytes more than steps, not five.
            {"lists of no elements", false,
                <<131, 104, 10, (binary:copy(<<108, 0:32, 106>>, 2))/binary,
                    (binary:copy(<<106>>, 8))/binary>>}
        ]
    ].

mostly_empty_lists(0) ->
    element(rand:uniform(8), {[], [], [], [], {}, hello, rand:uniform(300), 1 bsl 40});
mostly_empty_lists(Depth) ->
    Parts = [mostly_empty_lists(Depth - 1) || _ <- lists:seq(1, rand:uniform(6))],
    case rand:uniform(6) of
        1 -> mostly_empty_lists(0);
        2 -> rand:bytes(rand:uniform(20));
        3 -> list_to_tuple(Parts);
        4 -> Parts;
        5 -> Parts ++ hello;
        6 -> maps:from_list([{Part, Part} || Part <- Parts])
    end.

%% As OTP's decoder counts.
steps([]) ->
    1;
steps(List) when is_list(List) ->
    case io_lib:latin1_char_list(List) andalso length(List) < 65536 of
        true -> 1 + length(List);
        false -> steps_of_elements(List, 0)
    end;
steps(Tuple) when is_tuple(Tuple) ->
    1 + tuple_size(Tuple) + lists:sum([steps(Element) || Element <- tuple_to_list(Tuple)]);
steps(#{} = Map) ->
    1 + lists:sum([steps(Key) + steps(Value) || {Key, Value} <- maps:to_list(Map)]);
steps(Binary) when is_binary(Binary) ->
    1 + byte_size(Binary) div 8;
steps(_Other) ->
    1.

steps_of_elements([Element | Rest], Steps) -> steps_of_elements(Rest, Steps + 1 + steps(Element));
steps_of_elements(Tail, Steps) -> Steps + steps(Tail).

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
            [{to_file, user}, {numtests, 500}]
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
