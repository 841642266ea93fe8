%%% @doc A term on the wire: its external format, with large binaries next to it.
%%%
%%% Decoding the external format copies every binary, which for a large one costs more than all
%%% other work on it. So a term with large binaries is sent as a *skeleton*, in which each of them
%%% is empty, followed by their bytes; the receiver inserts parts of what it has read, without a
%%% copy.
%%%
%%% ```
%%% +-----+------------------------+
%%% | 131 | of an external format  |
%%% +-----+------------------------+
%%% +---+---------+---------------------------------------+----------+
%%% | 0 | size 32 | {Skeleton, [{Path, Size}]}, of `size' | binaries |
%%% +---+---------+---------------------------------------+----------+
%%% '''
%%%
%%% A path leads from the root to a binary: indices into tuples and lists, keys of maps.
%%%
%%% == Decoding what a peer sent ==
%%% Every term must arrive equal, including atoms that this node has never seen, which are common on
%%% a node that loads its code lazily. Only authenticated peers get this far, and even they must not
%%% fill the atom table: unknown atoms are created only while at least half of the table stays free.
%%% Compressed terms, which we never send, are refused: their size does not bound their memory.
%%%
%%% Before OTP 29 a term that takes more steps to decode than it has bytes, such as a list of empty
%%% lists, can corrupt the heap and end the virtual machine: `binary_to_term' takes its size for an
%%% upper bound and is interrupted where it was not prepared to be
%%% (https://github.com/erlang/otp/issues/11404). With as many bytes again, which are ignored, the
%%% bound holds. They are left out where it is seen to hold without them, as in most terms: copying
%%% a kilobyte costs a tenth of all work on a message.
-module(partisan_term).

-export([encode/1]).
-export([decode/1]).
-export([elements/1]).

%% Binaries from this size on, in bytes, travel next to their term: finding them is cheaper than
%% copying.
-define(LARGE, 16384).
%% Parts of a term searched for large binaries. The rest is copied.
-define(LOOKS, 256).

-type step() :: pos_integer() | (Key :: term()).
-type hole() :: {Path :: [step()], binary()}.

%% @doc Encodes a term.
-spec encode(term()) -> iodata().
encode(Term) ->
    Whole = erlang:term_to_iovec(Term),
    case lists:any(fun(Part) -> byte_size(Part) >= ?LARGE end, Whole) of
        true -> encode(Term, Whole, holes(Term));
        false -> Whole
    end.

%% @doc Decodes a term. Its large binaries are sub-binaries of the input and keep it alive.
-spec decode(binary()) -> {ok, term()} | error.
decode(<<0, Size:32, Head:Size/binary, Binaries/binary>>) ->
    case external(Head) of
        {ok, {Skeleton, Holes}} -> fill(Skeleton, Holes, Binaries);
        _ -> error
    end;
decode(External) ->
    external(External).

%% @doc The elements of an encoded tuple without large binaries, each to be decoded by itself.
-spec elements(binary()) -> {ok, [binary()]} | error.
elements(<<0, Size:32, Head:Size/binary, _Binaries/binary>>) ->
    case partisan_external:elements(Head) of
        {ok, [Skeleton, _Holes]} -> partisan_external:elements(Skeleton);
        _ -> error
    end;
elements(External) ->
    partisan_external:elements(External).

%% Internals: encoding.

encode(_Term, Whole, []) ->
    Whole;
encode(Term, _Whole, Holes) ->
    Skeleton = lists:foldl(fun({Path, _}, Acc) -> put_at(Path, <<>>, Acc) end, Term, Holes),
    Head = term_to_binary({Skeleton, [{Path, byte_size(Large)} || {Path, Large} <- Holes]}),
    [<<0, (byte_size(Head)):32, Head/binary>> | [Large || {_, Large} <- Holes]].

-spec holes(term()) -> [hole()].
holes(Term) ->
    {_Looks, Holes} = look(Term, [], {?LOOKS, []}),
    Holes.

%% The path holds the steps so far, latest first.
look(_Term, _Path, {0, _} = Found) ->
    Found;
look(Large, Path, {Looks, Holes}) when is_binary(Large), byte_size(Large) >= ?LARGE ->
    {Looks - 1, [{lists:reverse(Path), Large} | Holes]};
look(Tuple, Path, {Looks, Holes}) when is_tuple(Tuple) ->
    look_tuple(1, Tuple, Path, {Looks - 1, Holes});
look(List, Path, Found) when is_list(List) ->
    look_list(1, List, Path, Found);
look(Map, Path, {Looks, Holes}) when is_map(Map) ->
    look_map(maps:next(maps:iterator(Map)), Path, {Looks - 1, Holes});
look(_Other, _Path, {Looks, Holes}) ->
    {Looks - 1, Holes}.

look_tuple(Index, Tuple, Path, {Looks, _} = Found) when Index =< tuple_size(Tuple), Looks > 0 ->
    look_tuple(Index + 1, Tuple, Path, look(element(Index, Tuple), [Index | Path], Found));
look_tuple(_Index, _Tuple, _Path, Found) ->
    Found.

%% The tail of an improper list stays in place.
look_list(Index, [Element | List], Path, {Looks, _} = Found) when Looks > 0 ->
    look_list(Index + 1, List, Path, look(Element, [Index | Path], Found));
look_list(_Index, _Tail, _Path, Found) ->
    Found.

look_map({Key, Value, Iterator}, Path, {Looks, _} = Found) when Looks > 0 ->
    look_map(maps:next(Iterator), Path, look(Value, [Key | Path], Found));
look_map(_Rest, _Path, Found) ->
    Found.

%% Internals: both ways.

put_at([], Binary, _Former) ->
    Binary;
put_at([Index | Path], Binary, Tuple) when is_tuple(Tuple) ->
    setelement(Index, Tuple, put_at(Path, Binary, element(Index, Tuple)));
put_at([Key | Path], Binary, #{} = Map) ->
    Map#{Key := put_at(Path, Binary, map_get(Key, Map))};
put_at([1 | Path], Binary, [Element | List]) ->
    [put_at(Path, Binary, Element) | List];
put_at([Index | Path], Binary, [Element | List]) when is_integer(Index) ->
    [Element | put_at([Index - 1 | Path], Binary, List)].

%% Internals: decoding.

fill(Skeleton, Holes, Binaries) ->
    try length(Holes) =< ?LOOKS andalso {ok, fill_in(Holes, Binaries, Skeleton)} of
        % More than we ever send; each path may lead through a long list.
        false -> error;
        Filled -> Filled
    catch
        % Paths that lead nowhere, invalid sizes.
        error:_ -> error
    end.

fill_in([], <<>>, Term) ->
    Term;
fill_in([{Path, Size} | Holes], Binaries, Term) ->
    <<Large:Size/binary, Rest/binary>> = Binaries,
    fill_in(Holes, Rest, put_at(Path, Large, Term)).

external(<<131, 80, _/binary>>) ->
    error;
external(External) ->
    Bounded =
        case partisan_external:has_fewer_steps_than_bytes(External) of
            true -> External;
            false -> <<External/binary, 0:(byte_size(External))/unit:8>>
        end,
    try
        {ok, binary_to_term(Bounded, [safe])}
    catch
        error:badarg -> external_with_new_atoms(External, Bounded)
    end.

external_with_new_atoms(External, Bounded) ->
    Free = erlang:system_info(atom_limit) div 2 - erlang:system_info(atom_count),
    try may_make_atoms(External, Free) andalso {ok, binary_to_term(Bounded)} of
        false -> error;
        Decoded -> Decoded
    catch
        error:badarg -> error
    end.

%% An atom takes at least three bytes of the external format; atoms are counted only if that leaves
%% a doubt.
may_make_atoms(External, Free) when byte_size(External) div 3 =< Free -> true;
may_make_atoms(External, Free) -> partisan_external:new_atoms(External, Free) =:= few.
