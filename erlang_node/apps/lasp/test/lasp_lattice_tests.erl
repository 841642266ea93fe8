%%% @doc The laws of every replicated type, as equations over random values.
-module(lasp_lattice_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-export([lattices/0, laws/2, check/1]).

-define(SAMPLES, 200).

laws_test_() ->
    [
        {atom_to_list(Type) ++ ": " ++ Law, {timeout, 600, ?_assert(check(Property))}}
     || {Type, Generator} <- lattices(),
        {Law, Property} <- laws(Type, Generator)
    ].

laws(Type, Generator) ->
    [
        {"merge is idempotent", ?FORALL(A, Generator, Type:merge(A, A) =:= A)},
        {"merge is commutative",
            ?FORALL({A, B}, {Generator, Generator}, Type:merge(A, B) =:= Type:merge(B, A))},
        {"merge is associative",
            ?FORALL(
                {A, B, C},
                {Generator, Generator, Generator},
                Type:merge(A, Type:merge(B, C)) =:= Type:merge(Type:merge(A, B), C)
            )},
        {"merge only grows",
            ?FORALL(
                {A, B},
                {Generator, Generator},
                Type:merge(A, Type:merge(A, B)) =:= Type:merge(A, B)
            )},
        {"the new value is the least", ?FORALL(A, Generator, Type:merge(Type:new(), A) =:= A)},
        {"what is encoded decodes to itself",
            ?FORALL(
                A,
                Generator,
                lasp_lattice:decode(Type, lasp_lattice:encode(Type, A)) =:= {ok, A}
            )},
        {"equal digests mean equal values",
            ?FORALL(
                {A, B},
                {Generator, Generator},
                (digest(Type, A) =:= digest(Type, B)) =:= (A =:= B)
            )},
        {"the difference joins to the same",
            ?FORALL(
                {A, B},
                {Generator, Generator},
                Type:merge(Type:difference(A, B), B) =:= Type:merge(A, B)
            )},
        {"the difference contains nothing known",
            ?FORALL(
                {A, B},
                {Generator, Generator},
                Type:difference(B, Type:merge(A, B)) =:= Type:new() andalso
                    Type:difference(Type:difference(A, B), B) =:= Type:difference(A, B)
            )},
        {"a value is the join of its parts, in any order, all of them new at first",
            ?FORALL(
                {A, Random},
                {Generator, binary()},
                begin
                    Parts = shuffled(Random, lasp_lattice:keyed(Type, A)),
                    {ok, New, Joined} = lasp_lattice:join(Type, Parts, Type:new()),
                    Joined =:= A andalso lists:sort(New) =:= lists:sort(Parts) andalso
                        lasp_lattice:join(Type, Parts, A) =:= {ok, [], A}
                end
            )},
        {"a value has as many parts as its size says, each at its key",
            ?FORALL(
                A,
                Generator,
                Type:size(A) =:= length(Type:to_parts(A)) andalso
                    lists:all(
                        fun({Path, Leaf}) ->
                            {ok, Key} = Type:key(Path),
                            Type:path(Key) =:= Path andalso
                                Type:leaf(Key, A) =:= Leaf andalso
                                Type:join(Key, Leaf, A) =:= known
                        end,
                        Type:to_parts(A)
                    )
            )},
        {"the encoding is the same with any known form",
            ?FORALL(
                {A, B},
                {Generator, Generator},
                begin
                    {_, Form} = lasp_form:encode(Type, B, none),
                    {Bytes, Own} = lasp_form:encode(Type, A, Form),
                    {Bytes, Own} =:= lasp_form:encode(Type, A, none) andalso
                        {Bytes, Own} =:= lasp_form:encode(Type, A, Own)
                end
            )},
        {"joining bytes equals merging, and returns the new parts",
            ?FORALL(
                {A, Before, Since, Known},
                {Generator, Generator, Generator, oneof([none, before, now])},
                begin
                    Value = Type:merge(Before, Since),
                    Bytes = lasp_lattice:encode(Type, A),
                    Form = form(Known, Type, Before, Value),
                    {ok, New, Joined} = lasp_form:join(Type, Bytes, Value, Form),
                    {ok, _, Difference} = lasp_lattice:join(Type, New, Type:new()),
                    Joined =:= Type:merge(A, Value) andalso Difference =:= Type:difference(A, Value)
                end
            )},
        {"no bytes, however malformed, crash a decoder with a form",
            ?FORALL(
                {Value, Bytes},
                {Generator, damaged(Type, Generator)},
                case lasp_form:join(Type, Bytes, Value, form(now, Type, Value, Value)) of
                    {ok, _, _} -> true;
                    error -> true
                end
            )},
        {"parts are in the order of their paths",
            ?FORALL(A, Generator, Type:to_parts(A) =:= lists:usort(Type:to_parts(A)))},
        {"no bytes, however malformed, crash the decoder",
            ?FORALL(Bytes, damaged(Type, Generator), decodes_or_not(Type, Bytes))}
    ].

%% The types under test with generators of their values; a map stands for those with parts.
lattices() ->
    [
        {lasp_gcounter, gcounter()},
        {lasp_max, oneof([lasp_max:new(), ?LET(V, {nat(), nat()}, lasp_max:new(V))])},
        {lasp_min, oneof([lasp_min:new(), ?LET(V, integer(), lasp_min:new(V))])},
        {lasp_gmap_of_gcounter, ?LET(Entries, list({key(), gcounter()}), gmap(Entries))},
        {lasp_product_of_two,
            ?LET(
                {First, Entries},
                {oneof([lasp_min:new(), ?LET(V, integer(), lasp_min:new(V))]),
                    list({key(), gcounter()})},
                lasp_product_of_two:new(First, gmap(Entries))
            )}
    ].

malformed_parts_are_refused_test_() ->
    [
        ?_assertEqual(error, lasp_lattice:decode(Type, lasp_parts:encode([Part])))
     || {Type, Malformed} <- [
            {lasp_gcounter, [
                {[], [1]}, {[<<"a">>], []}, {[<<"a">>], [0]}, {[<<"a">>], [-1]}, {[1], [1]}
            ]},
            {lasp_max, [{[<<"a">>], [1]}, {[], []}]},
            {lasp_min, [{[], [1, 2]}, {[], []}, {[1], [1]}]},
            {lasp_gmap_of_gcounter, [{[], [1]}, {[1], [1]}, {[1, <<"a">>], [0]}]},
            {lasp_product_of_two, [{[], []}, {[1], [1]}, {[1, <<"a">>], [0]}]}
        ],
        Part <- Malformed
    ].

%% Helpers.

check(Property) ->
    proper:quickcheck(Property, [{to_file, user}, {numtests, ?SAMPLES}]).

shuffled(Random, Parts) ->
    lists:sort(fun(A, B) -> erlang:phash2({Random, A}) =< erlang:phash2({Random, B}) end, Parts).

digest(Type, Value) ->
    lasp_lattice:digest(lasp_lattice:encode(Type, Value)).

form(none, _Type, _Before, _Value) -> none;
form(before, Type, Before, _Value) -> element(2, lasp_form:encode(Type, Before, none));
form(now, Type, _Before, Value) -> element(2, lasp_form:encode(Type, Value, none)).

decodes_or_not(Type, Bytes) ->
    case lasp_lattice:decode(Type, Bytes) of
        {ok, _} -> true;
        error -> true
    end.

%% An encoded value with one byte changed.
damaged(Type, Generator) ->
    ?LET(
        {Value, Position, Byte},
        {Generator, nat(), byte()},
        begin
            Bytes = lasp_lattice:encode(Type, Value),
            case split_binary(Bytes, Position rem (byte_size(Bytes) + 1)) of
                {Before, <<_, After/binary>>} -> <<Before/binary, Byte, After/binary>>;
                {Before, <<>>} -> <<Before/binary, Byte>>
            end
        end
    ).

gcounter() ->
    ?LET(
        Entries,
        list({actor(), nat()}),
        lists:foldl(
            fun({Actor, Count}, Acc) ->
                lasp_gcounter:merge(lasp_gcounter:entry(Actor, Count), Acc)
            end,
            lasp_gcounter:new(),
            Entries
        )
    ).

gmap(Entries) ->
    lists:foldl(
        fun({Key, Counter}, Acc) ->
            lasp_gmap_of_gcounter:merge(lasp_gmap:entry(lasp_gcounter, Key, Counter), Acc)
        end,
        lasp_gmap_of_gcounter:new(),
        Entries
    ).

key() ->
    oneof([integer(0, 3), actor()]).

actor() ->
    oneof([<<"a">>, <<"b">>, <<"c">>, <<"d">>]).
