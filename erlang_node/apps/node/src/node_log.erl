%%% @doc The format of the log: one line per event, as `key=value' pairs.
%%%
%%% ```
%%% time=2026-11-21T02:03:04.567890Z level=notice node=ads-17 event=run_started run=3f2a9c
%%% '''
%%% Values with spaces or quotes are quoted. A line never contains a line break, so a peer cannot
%%% forge one.
-module(node_log).

-export([install/1]).
-export([format/2]).

%% A library's event can be of any size.
-define(MAX_VALUE_BYTES, 2000).

%% @doc Makes the default handler write in this format.
-spec install(partisan_peer:name()) -> ok | {error, term()}.
install(Node) ->
    logger:update_handler_config(default, formatter, {?MODULE, #{node => Node}}).

%% @private Formatter callback.
-spec format(logger:log_event(), #{node := binary()}) -> unicode:chardata().
format(#{level := Level, msg := Message, meta := Meta}, #{node := Node}) ->
    #{time := Time} = Meta,
    Stamp = calendar:system_time_to_rfc3339(Time, [{unit, microsecond}, {offset, "Z"}]),
    Pairs = [{time, Stamp}, {level, Level}, {node, Node} | fields(Message, Meta)],
    [lists:join($\s, [[atom_to_list(Key), $=, value(Value)] || {Key, Value} <- Pairs]), $\n].

%% Internals.

fields({report, #{event := Event} = Report}, _Meta) ->
    [{event, Event} | lists:sort(maps:to_list(maps:remove(event, Report)))];
fields({report, Report}, #{report_cb := Callback}) when is_function(Callback, 1) ->
    {Format, Arguments} = Callback(Report),
    text(io_lib:format(Format, Arguments));
fields({report, Report}, #{report_cb := Callback}) when is_function(Callback, 2) ->
    text(Callback(Report, #{depth => 20, chars_limit => ?MAX_VALUE_BYTES, single_line => true}));
fields({report, Report}, _Meta) ->
    text(io_lib:format("~0tp", [Report]));
fields({string, String}, _Meta) ->
    text(String);
fields({Format, Arguments}, _Meta) ->
    text(io_lib:format(Format, Arguments)).

text(Text) ->
    [{event, message}, {text, unicode:characters_to_binary(Text)}].

value(Value) ->
    Short = cut(plain(Value)),
    case re:run(Short, "^[^\\s\"=\\\\[:cntrl:]]+\\z", [unicode, {capture, none}]) of
        match -> Short;
        nomatch -> node_json:encode(Short)
    end.

%% By bytes, but never in the middle of a character.
cut(<<Beginning:?MAX_VALUE_BYTES/binary, _/binary>>) ->
    case unicode:characters_to_binary(Beginning) of
        {incomplete, Whole, _Part} -> Whole;
        Whole -> Whole
    end;
cut(Short) ->
    Short.

plain(Value) when is_binary(Value) ->
    case unicode:characters_to_binary(Value) of
        Value -> Value;
        _ -> printed(Value)
    end;
plain(Value) when is_atom(Value) ->
    atom_to_binary(Value);
plain(Value) when is_list(Value) ->
    case io_lib:printable_unicode_list(Value) of
        true -> unicode:characters_to_binary(Value);
        false -> printed(Value)
    end;
plain(Value) ->
    printed(Value).

printed(Value) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Value])).
