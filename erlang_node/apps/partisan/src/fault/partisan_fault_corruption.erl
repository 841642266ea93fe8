%%% @doc Corrupted messages: a message that still decodes, with another value in it.
%%%
%%% Frames have checksums (TCP, TLS), and a damaged one would not decode; the faults of interest are
%%% those of faulty memory and disks, which the network carries faithfully.
-module(partisan_fault_corruption).

-export([corrupt/2]).

-type how() :: bit_flip | {replace, term()}.
-export_type([how/0]).

%% @doc A corrupted message. `bit_flip' changes one value: the sign of the last integer (0 becomes
%% 1), in the order of the term, a map in the order of its keys; without an integer the last bit of
%% the last binary. A message with neither stays as it is.
-spec corrupt(how(), Msg :: term()) -> term().
corrupt({replace, Term}, _Msg) ->
    Term;
corrupt(bit_flip, Msg) ->
    case flip_last(fun flip_integer/1, Msg) of
        {ok, Flipped} -> Flipped;
        none -> flip_bits(Msg)
    end.

%% Internals.

flip_bits(Msg) ->
    case flip_last(fun flip_binary/1, Msg) of
        {ok, Flipped} -> Flipped;
        none -> Msg
    end.

%% The term with the last value changed that the function can change.
flip_last(Flip, Term) when is_tuple(Term) ->
    within(fun list_to_tuple/1, flip_element(Flip, lists:reverse(tuple_to_list(Term)), []));
flip_last(Flip, [Head | Tail]) ->
    case flip_last(Flip, Tail) of
        {ok, Flipped} -> {ok, [Head | Flipped]};
        none -> within(fun(Flipped) -> [Flipped | Tail] end, flip_last(Flip, Head))
    end;
flip_last(Flip, Term) when is_map(Term) ->
    {Keys, Values} = lists:unzip(lists:sort(maps:to_list(Term))),
    Rebuild = fun(Flipped) -> maps:from_list(lists:zip(Keys, Flipped)) end,
    within(Rebuild, flip_element(Flip, lists:reverse(Values), []));
flip_last(Flip, Term) ->
    Flip(Term).

flip_element(_Flip, [], _After) ->
    none;
flip_element(Flip, [Last | Before], After) ->
    case flip_last(Flip, Last) of
        {ok, Flipped} -> {ok, lists:reverse(Before, [Flipped | After])};
        none -> flip_element(Flip, Before, [Last | After])
    end.

within(Rebuild, {ok, Flipped}) -> {ok, Rebuild(Flipped)};
within(_Rebuild, none) -> none.

flip_integer(0) -> {ok, 1};
flip_integer(N) when is_integer(N) -> {ok, -N};
flip_integer(_) -> none.

flip_binary(Bits) when is_bitstring(Bits), bit_size(Bits) > 0 ->
    Before = bit_size(Bits) - 1,
    <<Kept:Before/bitstring, Last:1>> = Bits,
    {ok, <<Kept/bitstring, (1 - Last):1>>};
flip_binary(_) ->
    none.
