%%% @doc The space-time diagram of an execution, as an SVG.
%%%
%%% A vertical line is a node, time goes down, an arrow is a message. Faults are in red: a dropped
%%% message ends on its way, a crashed node's line has a gap. Rows are events in their order, not to
%%% scale: messages take milliseconds and timeouts seconds. The times are at the left edge.
-module(verify_diagram).

-export([svg/2]).

-define(LEFT, 96).
-define(COLUMN, 170).
-define(TOP, 96).
-define(TEXT, 16).
-define(ROW, 30).
%% Between the departures of messages that one happening sends: arrows from one point to nodes in a
%% row would lie on one line.
-define(FAN, 6).

%% A happening with its row.
-type row() :: {pos_integer(), verify_world:entry()}.

%% @doc Draws a trace below its title and text. `nodes': the columns.
-spec svg(
    #{
        title := unicode:chardata(),
        text := [unicode:chardata()],
        nodes := [verify_world:name()]
    },
    [verify_world:entry()]
) -> iodata().
svg(#{title := Title, text := Lines, nodes := Nodes}, Trace) ->
    Rows = number(Trace),
    Width = max(?LEFT + ?COLUMN * length(Nodes) + 40, 640),
    Shift = ?TEXT * length(Lines),
    Height = ?TOP + ?ROW * (length(Rows) + 2),
    Columns = maps:from_list(lists:zip(Nodes, lists:seq(0, length(Nodes) - 1))),
    [
        io_lib:format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ~b ~b\" width=\"~b\" "
            "height=\"~b\" role=\"img\">~n",
            [Width, Height + Shift, Width, Height + Shift]
        ),
        "<title>", escape(Title), "</title>\n",
        style(),
        "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
        text(16, 26, "title", start, Title),
        lines(Lines, 46),
        io_lib:format("<g transform=\"translate(0 ~b)\">~n", [Shift]),
        [lifeline(Node, Columns, Rows, Height) || Node <- Nodes],
        times(Rows),
        [draw(Row, Rows, Columns) || Row <- Rows],
        "</g>\n</svg>\n"
    ].

%% Internals: rows.

-spec number([verify_world:entry()]) -> [row()].
number(Trace) ->
    Shown = [Entry || Entry <- Trace, is_shown(Entry)],
    lists:zip(lists:seq(1, length(Shown)), Shown).

is_shown({_, {event, _, {members, _}}}) -> false;
%% Its arrival is.
is_shown({_, {message, _, _, _, late}}) -> false;
is_shown({_, _}) -> true.

%% Where a message leaves its sender: at the last happening of the sender at that time, below those
%% that left before it.
departure(From, Sent, Arrival, Rows) ->
    Row = origin(From, Sent, Arrival, Rows),
    Before = [
        R
     || {R, {_, {message, {F, _, _, _}, _, S, _}}} <- Rows,
        R < Arrival,
        F =:= From,
        S =:= Sent,
        origin(F, S, R, Rows) =:= Row
    ],
    y(Row) + ?FAN * length(Before).

origin(From, Sent, Arrival, Rows) ->
    lists:foldl(
        fun
            ({Row, {Time, What}}, Best) when Row < Arrival, Time =:= Sent ->
                case place(What) of
                    From -> max(Best, Row);
                    _ -> Best
                end;
            (_, Best) ->
                Best
        end,
        0,
        Rows
    ).

%% The node on whose line something happens.
place({message, {_, To, _, _}, _Msg, _Sent, _Fate}) -> To;
place({event, Name, _Event}) -> Name;
place({deliver, Name, _Term}) -> Name;
place({reply, Name, _Ref, _Answer}) -> Name;
place({crash, Name, _Number}) -> Name;
place({restart, Name}) -> Name;
place({failed, {crashed, Name, _, _, _, _}}) -> Name;
place({failed, {looping, Name, _}}) -> Name.

%% Internals: drawing.

%% Faults and the verdict in red.
lines([], _Y) ->
    [];
lines([Line | Rest], Y) ->
    Text = unicode:characters_to_list(Line),
    IsBad = lists:any(fun(Start) -> lists:prefix(Start, Text) end, ["fault ", "final "]),
    Class =
        case IsBad of
            true -> "bad";
            false -> "plain"
        end,
    [text(16, Y, Class, start, Text) | lines(Rest, Y + ?TEXT)].

lifeline(Node, Columns, Rows, Height) ->
    X = x(Node, Columns),
    Ends = [{Row, What} || {Row, {_, {Kind, N, _} = What}} <- Rows, Kind =:= crash, N =:= Node],
    Starts = [{Row, What} || {Row, {_, {restart, N} = What}} <- Rows, N =:= Node],
    [
        text(X, ?TOP - 16, "name", middle, Node),
        [
            line("run", X, From, X, To)
         || {From, To} <- up(?TOP - 8, lists:sort(Ends ++ Starts), Height - ?ROW)
        ]
    ].

%% The parts of a line on which the node runs.
up(From, [], Bottom) -> [{From, Bottom}];
up(From, [{Row, {crash, _, _}} | Rest], Bottom) -> [{From, y(Row)} | down(Rest, Bottom)];
up(From, [_ | Rest], Bottom) -> up(From, Rest, Bottom).

down([], _Bottom) -> [];
down([{Row, {restart, _}} | Rest], Bottom) -> up(y(Row), Rest, Bottom);
down([_ | Rest], Bottom) -> down(Rest, Bottom).

%% A time stands at its first row.
times(Rows) ->
    {Texts, _} = lists:mapfoldl(
        fun
            ({_, {Time, _}}, Time) -> {[], Time};
            ({Row, {Time, _}}, _) -> {text(?LEFT - 40, y(Row) + 4, "time", 'end', [ms(Time)]), Time}
        end,
        none,
        Rows
    ),
    Texts.

draw({Row, {_, {message, {From, To, Type, Occurrence}, _Msg, Sent, Fate}}}, Rows, Columns) ->
    case Columns of
        #{From := _, To := _} ->
            Start = {x(From, Columns), departure(From, Sent, Row, Rows)},
            arrow(Fate, Start, {x(To, Columns), y(Row)}, label(Type, Occurrence, Fate));
        #{} ->
            []
    end;
draw({Row, {_, {crash, Name, _}}}, _Rows, Columns) ->
    mark("bad", "\x{2715} crashes", Name, Row, Columns);
draw({Row, {_, {failed, Failure}}}, _Rows, Columns) ->
    mark("bad", [<<"\x{2715} "/utf8>>, failure(Failure)], place({failed, Failure}), Row, Columns);
draw({Row, {_, {restart, Name}}}, _Rows, Columns) ->
    mark("note", "starts again", Name, Row, Columns);
draw({Row, {_, {event, Name, {timer, Timer}}}}, _Rows, Columns) ->
    mark("note", ["timer ", short(Timer)], Name, Row, Columns);
draw({Row, {_, {event, Name, {call, _Ref, Request}}}}, _Rows, Columns) ->
    mark("name", short(Request), Name, Row, Columns);
draw({Row, {_, {event, Name, Event}}}, _Rows, Columns) ->
    mark("note", short(Event), Name, Row, Columns);
draw({Row, {_, {deliver, Name, Term}}}, _Rows, Columns) ->
    mark("good", ["delivers ", short(Term)], Name, Row, Columns);
draw({Row, {_, {reply, Name, _Ref, Answer}}}, _Rows, Columns) ->
    mark("name", ["answers ", short(Answer)], Name, Row, Columns).

failure({crashed, _, _, Class, Reason, _}) -> [short(Class), ": ", short(Reason)];
failure({looping, _, _}) -> "does not return".

mark(Class, Text, Name, Row, Columns) ->
    X = x(Name, Columns),
    [
        io_lib:format("<circle class=\"~s\" cx=\"~b\" cy=\"~b\" r=\"3.5\"/>~n", [Class, X, y(Row)]),
        text(X + 8, y(Row) - 6, Class, start, Text)
    ].

%% A message that does not arrive ends on its way.
arrow(Fate, {X1, Y1}, {X2, Y2}, Label) when Fate =:= drop; Fate =:= lost ->
    Class = class(Fate),
    {X, Y} = {(X1 + 2 * X2) div 3, (Y1 + 2 * Y2) div 3},
    [
        line(Class, X1, Y1, X, Y),
        text(X, Y + 5, Class, middle, "\x{2715}"),
        over(Class, X, Y - 3, Label)
    ];
arrow(Fate, {X1, Y1}, {X2, Y2}, Label) ->
    Class = class(Fate),
    [
        line(Class, X1, Y1, X2, Y2),
        head(Class, {X1, Y1}, {X2, Y2}),
        over(Class, (X1 + 3 * X2) div 4, (Y1 + 3 * Y2) div 4, Label)
    ].

over(Class, X, Y, Label) ->
    text(X, Y - 4, Class, middle, Label).

head(Class, {X1, Y1}, {X2, Y2}) ->
    Angle = math:atan2(Y2 - Y1, X2 - X1),
    Point = fun(Turn) -> [X2 - 9 * math:cos(Angle + Turn), Y2 - 9 * math:sin(Angle + Turn)] end,
    io_lib:format(
        "<path class=\"~s head\" d=\"M~b ~b L~.1f ~.1f L~.1f ~.1f Z\"/>~n",
        [Class, X2, Y2] ++ Point(0.4) ++ Point(-0.4)
    ).

class(deliver) -> "sent";
class(arrive) -> "odd";
class(duplicate) -> "odd";
class(lost) -> "gone";
class(drop) -> "bad";
class({corrupt, _}) -> "bad".

label(Type, Occurrence, Fate) ->
    [atom_to_binary(Type), [[" ", integer_to_binary(Occurrence)] || Occurrence > 1], fate(Fate)].

fate(deliver) -> "";
fate(drop) -> " dropped";
fate(lost) -> " lost";
fate(duplicate) -> "";
fate(arrive) -> " later";
fate({corrupt, _}) -> " corrupted".

%% Internals: elements.

line(Class, X1, Y1, X2, Y2) ->
    io_lib:format("<path class=\"~s\" d=\"M~b ~b L~b ~b\"/>~n", [Class, X1, Y1, X2, Y2]).

text(X, Y, Class, Anchor, Text) ->
    [
        io_lib:format(
            "<text class=\"~s\" x=\"~b\" y=\"~b\" text-anchor=\"~s\">", [Class, X, Y, Anchor]
        ),
        escape(Text),
        "</text>\n"
    ].

x(Name, Columns) -> ?LEFT + ?COLUMN div 4 + ?COLUMN * map_get(Name, Columns).

y(Row) -> ?TOP + ?ROW * Row.

ms(Time) -> [integer_to_binary(Time), " ms"].

%% A term, as far as it fits between two lines.
short(Term) ->
    Text = unicode:characters_to_list(verify_steps:term(Term)),
    case string:length(Text) > 22 of
        true -> [string:slice(Text, 0, 21), 16#2026];
        false -> Text
    end.

escape(Text) ->
    [escape_one(Character) || Character <- unicode:characters_to_list(Text)].

escape_one($<) -> "&lt;";
escape_one($>) -> "&gt;";
escape_one($&) -> "&amp;";
escape_one($") -> "&quot;";
escape_one(Character) when Character < 32 -> " ";
escape_one(Character) -> <<Character/utf8>>.

%% Readable on light and dark pages.
style() ->
    "<style>\n"
    "text { font: 12px system-ui, sans-serif; fill: #1b1f24; stroke: #ffffff; stroke-width: 3px; "
    "stroke-linejoin: round; paint-order: stroke; }\n"
    ".title { font-weight: 600; font-size: 15px; } .name { font-weight: 600; }\n"
    ".time { fill: #6a737d; font-size: 11px; } .note { fill: #6a737d; }\n"
    "path { fill: none; stroke: #1b1f24; stroke-width: 1.3; }\n"
    "path.run { stroke: #b8bec5; stroke-width: 2; }\n"
    "path.gone { stroke: #b8bec5; stroke-dasharray: 4 3; } text.gone { fill: #6a737d; }\n"
    "path.odd { stroke: #9a6700; stroke-dasharray: 6 3; } text.odd { fill: #9a6700; }\n"
    "path.bad { stroke: #cf222e; stroke-width: 1.8; } text.bad { fill: #cf222e; }\n"
    "circle.bad, path.bad.head { fill: #cf222e; } path.sent.head { fill: #1b1f24; }\n"
    "path.odd.head { fill: #9a6700; } text.good { fill: #1a7f37; } circle.good { fill: #1a7f37; }\n"
    ".paper { fill: #ffffff; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3; stroke: #0d1117; } .paper { fill: #0d1117; } path { stroke: #e6edf3; }\n"
    "path.run { stroke: #484f58; } .time, .note, text.gone { fill: #9198a1; }\n"
    "path.sent.head, circle { fill: #e6edf3; } path.bad { stroke: #ff7b72; }\n"
    "text.bad, circle.bad, path.bad.head { fill: #ff7b72; }\n"
    "text.good, circle.good { fill: #7ee787; }\n"
    "path.odd { stroke: #d29922; } text.odd, path.odd.head { fill: #d29922; }\n"
    "}\n</style>\n".
