%%% @doc Encodes Erlang terms as JSON (RFC 8259). Nodes decode none.
%%%
%%% Maps are objects (keys: atoms or binaries, in their order), lists are arrays, binaries are
%%% strings in UTF-8, atoms are strings except `true', `false' and `null', numbers are numbers.
-module(node_json).

-export([encode/1]).

-type json() ::
    #{atom() | binary() => json()} | [json()] | binary() | atom() | integer() | float().

-export_type([json/0]).

%% @doc The JSON text of a value. Fails with `{not_utf8, Binary}' for a binary that is not UTF-8.
-spec encode(json()) -> iodata().
encode(null) -> <<"null">>;
encode(true) -> <<"true">>;
encode(false) -> <<"false">>;
encode(Atom) when is_atom(Atom) -> string(atom_to_binary(Atom));
encode(Binary) when is_binary(Binary) -> string(Binary);
encode(Integer) when is_integer(Integer) -> integer_to_binary(Integer);
encode(Float) when is_float(Float) -> float_to_binary(Float, [short]);
encode(List) when is_list(List) -> [$[, separated([encode(Value) || Value <- List]), $]];
encode(Map) when is_map(Map) ->
    Members = [[key(Key), $:, encode(Value)] || {Key, Value} <- lists:sort(maps:to_list(Map))],
    [${, separated(Members), $}].

%% Internals.

separated(Parts) ->
    lists:join($,, Parts).

key(Key) when is_atom(Key) -> string(atom_to_binary(Key));
key(Key) when is_binary(Key) -> string(Key).

string(Binary) ->
    [$", << <<(escape(Char))/binary>> || <<Char/utf8>> <= utf8(Binary) >>, $"].

utf8(Binary) ->
    % A comprehension would stop silently at the first bad byte.
    case unicode:characters_to_binary(Binary) of
        Binary -> Binary;
        _ -> error({not_utf8, Binary})
    end.

escape($") -> <<"\\\"">>;
escape($\\) -> <<"\\\\">>;
escape($\n) -> <<"\\n">>;
escape($\r) -> <<"\\r">>;
escape($\t) -> <<"\\t">>;
escape(Char) when Char < 16#20 -> iolist_to_binary(io_lib:format("\\u~4.16.0b", [Char]));
escape(Char) -> <<Char/utf8>>.
