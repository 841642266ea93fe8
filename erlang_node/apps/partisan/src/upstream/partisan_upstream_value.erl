%%% @doc Values of upstream Partisan's configuration: the forms in which it accepts text and
%%% options, and the error for any other value.
-module(partisan_upstream_value).

-export([text/1]).
-export([text_or_empty/1]).
-export([pairs/1]).
-export([invalid/2]).

%% @doc The characters of a string or binary.
-spec text(term()) -> string() | error.
text(Value) when is_binary(Value) ->
    case unicode:characters_to_list(Value) of
        Text when is_list(Text) -> Text;
        _ -> error
    end;
text(Value) ->
    case io_lib:printable_unicode_list(Value) of
        true -> Value;
        false -> error
    end.

%% @doc The characters of a string or binary; of anything else none, which no parser accepts.
-spec text_or_empty(term()) -> string().
text_or_empty(Value) ->
    case text(Value) of
        error -> "";
        Text -> Text
    end.

%% @doc The options of a map, or of a list of pairs.
-spec pairs(term()) -> [{atom(), term()}] | error.
pairs(Value) when is_map(Value) ->
    pairs(maps:to_list(Value));
pairs(Value) when is_list(Value) ->
    case lists:all(fun is_pair/1, Value) of
        true -> Value;
        false -> error
    end;
pairs(_Value) ->
    error.

%% @doc Rejects the configuration; {@link partisan_upstream_keys:converted/1} returns the text.
-spec invalid(io:format(), [term()]) -> no_return().
invalid(Format, Arguments) ->
    throw({invalid, io_lib:format(Format, Arguments)}).

%% Internals.

is_pair({Key, _}) -> is_atom(Key);
is_pair(_) -> false.
