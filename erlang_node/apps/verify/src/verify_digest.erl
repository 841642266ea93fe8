%%% @doc Hashes of terms that are equal on every release of OTP and in every order of maps.
-module(verify_digest).

-export([term/1]).
-export([canonical/1]).

%% @doc The hash of a term: 16 bytes. Functions, pids and references in it differ between runs.
-spec term(term()) -> binary().
term(Term) ->
    erlang:md5(term_to_binary(canonical(Term), [{minor_version, 2}])).

%% @doc The term with its maps as sorted lists, since their order differs between releases.
-spec canonical(term()) -> term().
canonical(Map) when is_map(Map) ->
    Pairs = [{canonical(Key), canonical(Value)} || {Key, Value} <- maps:to_list(Map)],
    {map, lists:sort(Pairs)};
canonical(Tuple) when is_tuple(Tuple) ->
    list_to_tuple([canonical(Element) || Element <- tuple_to_list(Tuple)]);
canonical([Head | Tail]) ->
    [canonical(Head) | canonical(Tail)];
canonical(Other) ->
    Other.
