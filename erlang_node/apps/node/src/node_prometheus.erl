%%% @doc Metrics in the text exposition format of Prometheus, version 0.0.4.
-module(node_prometheus).

-export([content_type/0]).
-export([render/1]).

%% @doc The media type of `render/1'.
-spec content_type() -> string().
content_type() ->
    "text/plain; version=0.0.4; charset=utf-8".

%% @doc The text of metric families from {@link partisan_metrics:collect/0}.
-spec render([partisan_metrics:family()]) -> iodata().
render(Families) ->
    [family(Family) || Family <- Families].

%% Internals.

family(#{name := Name, type := Type, help := Help, samples := Samples}) ->
    Text = atom_to_binary(Name),
    [
        ["# HELP ", Text, $\s, escape_help(unicode:characters_to_binary(Help)), $\n],
        ["# TYPE ", Text, $\s, atom_to_binary(Type), $\n],
        [sample(Text, Labels, Value) || {Labels, Value} <- Samples]
    ].

sample(Name, Labels, #{buckets := Buckets, count := Count, sum := Sum}) ->
    [
        [line([Name, "_bucket"], Labels ++ [{le, number(Bound)}], N) || {Bound, N} <- Buckets],
        line([Name, "_bucket"], Labels ++ [{le, <<"+Inf">>}], Count),
        line([Name, "_sum"], Labels, Sum),
        line([Name, "_count"], Labels, Count)
    ];
sample(Name, Labels, Value) ->
    line(Name, Labels, Value).

line(Name, Labels, Value) ->
    [Name, labels(Labels), $\s, number(Value), $\n].

labels([]) ->
    [];
labels(Labels) ->
    Pairs = [[atom_to_binary(Key), "=\"", escape_label(text(Value)), $"] || {Key, Value} <- Labels],
    [${, lists:join($,, Pairs), $}].

text(Atom) when is_atom(Atom) -> atom_to_binary(Atom);
text(Binary) when is_binary(Binary) -> Binary;
text(Integer) when is_integer(Integer) -> integer_to_binary(Integer).

number(Integer) when is_integer(Integer) -> integer_to_binary(Integer);
number(Float) -> float_to_binary(Float, [short]).

escape_help(Text) ->
    replace(Text, [{<<"\\">>, <<"\\\\">>}, {<<"\n">>, <<"\\n">>}]).

escape_label(Text) ->
    replace(Text, [{<<"\\">>, <<"\\\\">>}, {<<"\n">>, <<"\\n">>}, {<<"\"">>, <<"\\\"">>}]).

replace(Text, Replacements) ->
    lists:foldl(
        fun({From, To}, Acc) -> binary:replace(Acc, From, To, [global]) end, Text, Replacements
    ).
