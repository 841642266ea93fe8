%%% @doc The external term format, scanned without building the term.
%%%
%%% {@link partisan_term} needs three things before it decodes: how many atoms are new to this node;
%%% of a term it may not decode, the parts that it may; and whether the emulator may be interrupted
%%% where it does not expect to be.
%%%
%%% A scan needs no stack: a compound term adds its parts to the number of terms still to come.
-module(partisan_external).

-export([new_atoms/2]).
-export([elements/1]).
-export([has_fewer_steps_than_bytes/1]).

-define(VERSION, 131).
%% Parts of a term that are read for that.
-define(LOOKS, 16).
-define(MORE(Left, Needed, Looks), Left > 0, Needed > 0, Looks > 0).

-type atoms() :: ignored | {Limit :: integer(), Known :: #{{latin1 | utf8, binary()} => []}}.

%% @doc Whether a term has at most that many distinct atoms unknown to this node. `error' if the
%% bytes are malformed.
-spec new_atoms(External :: binary(), Limit :: integer()) -> few | many | error.
new_atoms(<<?VERSION, Term/binary>>, Limit) ->
    case walk(Term, 1, {Limit, #{}}) of
        {<<>>, _} -> few;
        many -> many;
        _ -> error
    end;
new_atoms(_, _Limit) ->
    error.

%% @doc The external formats of a tuple's elements.
-spec elements(External :: binary()) -> {ok, [binary()]} | error.
elements(<<?VERSION, 104, Arity, Elements/binary>>) -> split(Arity, Elements, []);
elements(<<?VERSION, 105, Arity:32, Elements/binary>>) -> split(Arity, Elements, []);
elements(_) -> error.

%% @doc Whether decoding a term is sure to take at most as many steps as it has bytes, as far as its
%% first parts show; false as well if they do not.
%%
%% As `dec_term' of OTP's external.c counts, a term is a step, an element of a tuple or a list one
%% more, and so is each character of a string and each eighth byte of a binary. So an empty list
%% alone can have more steps than bytes, as an element.
-spec has_fewer_steps_than_bytes(External :: binary()) -> boolean().
has_fewer_steps_than_bytes(<<?VERSION, Term/binary>>) -> few(Term, 1, byte_size(Term), ?LOOKS);
has_fewer_steps_than_bytes(_) -> false.

%% Internals.

%% The number of terms to come, and their bytes less what those seen have to spare, which is bytes
%% less steps; a compound term pays for its elements. Each byte to come can add one step at most.
%%
%% Every clause matches bytes first; otherwise each term would cost a binary of the rest.
few(<<97, _, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 3, L - 1);
few(<<98, _:32, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 9, L - 1);
few(<<109, B:32, _:B/binary, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 9 - 2 * B + B div 8, L - 1);
few(<<119, B, _:B/binary, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 3 - 2 * B, L - 1);
few(<<100, B:16, _:B/binary, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 5 - 2 * B, L - 1);
few(<<104, Arity, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1 + Arity, S - 3 + Arity, L - 1);
few(<<108, Length:32, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N + Length, S - 5 - min(4, 5 - Length), L - 1);
few(<<116, Pairs:32, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1 + 2 * Pairs, S - 9, L - 1);
few(<<106, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 1, L - 1);
few(<<110, B, _, _:B/binary, R/binary>>, N, S, L) when ?MORE(N, S, L) ->
    few(R, N - 1, S - 5 - 2 * B, L - 1);
few(_Bytes, _Left, Needed, _Looks) ->
    Needed =< 0.

split(0, <<>>, Elements) ->
    {ok, lists:reverse(Elements)};
split(Left, Terms, Elements) when Left > 0 ->
    case walk(Terms, 1, ignored) of
        {Rest, _} ->
            Size = byte_size(Terms) - byte_size(Rest),
            Element = binary:part(Terms, 0, Size),
            split(Left - 1, Rest, [<<?VERSION, Element/binary>> | Elements]);
        error ->
            error
    end;
split(_Left, _Terms, _Elements) ->
    error.

%% Skips that many terms; returns the remaining bytes.
-spec walk(binary(), Left :: non_neg_integer(), atoms()) -> {binary(), atoms()} | many | error.
walk(Bytes, 0, Atoms) -> {Bytes, Atoms};
%% Small numbers, binaries, lists and tuples first: most terms consist of these.
walk(<<97, _, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<98, _:32, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<109, S:32, _:S/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<104, Arity, R/binary>>, N, A) -> walk(R, N - 1 + Arity, A);
walk(<<105, Arity:32, R/binary>>, N, A) -> walk(R, N - 1 + Arity, A);
walk(<<106, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<107, S:16, _:S/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<108, Length:32, R/binary>>, N, A) -> walk(R, N + Length, A);
walk(<<116, Pairs:32, R/binary>>, N, A) -> walk(R, N - 1 + 2 * Pairs, A);
%% Atoms.
walk(<<119, S, Name:S/binary, R/binary>>, N, A) -> atom(utf8, Name, R, N, A);
walk(<<118, S:16, Name:S/binary, R/binary>>, N, A) -> atom(utf8, Name, R, N, A);
walk(<<115, S, Name:S/binary, R/binary>>, N, A) -> atom(latin1, Name, R, N, A);
walk(<<100, S:16, Name:S/binary, R/binary>>, N, A) -> atom(latin1, Name, R, N, A);
%% Other numbers, bit strings.
walk(<<70, _:64, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<99, _:31/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<110, S, _, _:S/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<111, S:32, _, _:S/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
walk(<<77, S:32, _, _:S/binary, R/binary>>, N, A) -> walk(R, N - 1, A);
%% Processes, ports, references: the atom of their node follows.
walk(<<103, R/binary>>, N, A) -> node(9, R, N, A);
walk(<<88, R/binary>>, N, A) -> node(12, R, N, A);
walk(<<102, R/binary>>, N, A) -> node(5, R, N, A);
walk(<<89, R/binary>>, N, A) -> node(8, R, N, A);
walk(<<120, R/binary>>, N, A) -> node(12, R, N, A);
walk(<<101, R/binary>>, N, A) -> node(5, R, N, A);
walk(<<114, Words:16, R/binary>>, N, A) -> node(1 + 4 * Words, R, N, A);
walk(<<90, Words:16, R/binary>>, N, A) -> node(4 + 4 * Words, R, N, A);
%% Functions: module, name, arity; module, index, uniq, creator and what is bound.
walk(<<113, R/binary>>, N, A) -> walk(R, N + 2, A);
walk(<<112, _:32, _, _:128, _:32, Bound:32, R/binary>>, N, A) -> walk(R, N + 3 + Bound, A);
walk(_, _, _) -> error.

%% An atom and that many bytes. Any other term in its place could be nested arbitrarily deep.
node(Size, <<Tag, _/binary>> = Bytes, Left, Atoms0) when
    Tag =:= 119; Tag =:= 118; Tag =:= 115; Tag =:= 100
->
    case walk(Bytes, 1, Atoms0) of
        {<<_:Size/binary, Rest/binary>>, Atoms} -> walk(Rest, Left - 1, Atoms);
        many -> many;
        _ -> error
    end;
node(_Size, _Bytes, _Left, _Atoms) ->
    error.

atom(_Encoding, _Name, Rest, Left, ignored) ->
    walk(Rest, Left - 1, ignored);
atom(Encoding, Name, Rest, Left, {Limit, Known} = Atoms) ->
    case is_map_key({Encoding, Name}, Known) orelse exists(Encoding, Name) of
        true -> walk(Rest, Left - 1, Atoms);
        false when map_size(Known) >= Limit -> many;
        false -> walk(Rest, Left - 1, {Limit, Known#{{Encoding, Name} => []}})
    end.

exists(Encoding, Name) ->
    try is_atom(binary_to_existing_atom(Name, Encoding)) catch
        error:_ -> false
    end.
