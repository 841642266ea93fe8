%%% @doc The execution of a counterexample as JSON: what the live page draws and steps through.
%%%
%%% A counterexample holds decisions, and only the protocol's code turns them into messages. This
%%% document holds the messages, so that a reader needs neither. Texts are for people; their length
%%% is bounded. docs/explanation/verification.md describes the fields.
-module(verify_document).

-export([json/2]).

-define(VERSION, 1).
%% Characters of one text.
-define(MAX_TEXT, 200).
%% The end of longer executions is left out, and `omitted' counts it.
-define(MAX_EVENTS, 20000).

%% @doc The document of a counterexample under a name. Replays it; raises as {@link
%% verify_replay:run/1}.
-spec json(Name :: unicode:chardata(), verify_counterexample:t()) -> iodata().
json(Name, #{violated := Violated} = Counterexample) ->
    #{world := World} = verify_replay:run(Counterexample),
    Trace = [Entry || Entry <- verify_world:trace(World), is_shown(Entry)],
    Lines = string:lexemes(verify_counterexample:text(Counterexample), "\n"),
    Shown = lists:sublist(Trace, ?MAX_EVENTS),
    Document = #{
        format => <<"partisan-execution">>,
        version => ?VERSION,
        name => line(Name),
        module => verify_counterexample:module(Counterexample),
        violated => line(Violated),
        text => [line(Line) || Line <- Lines],
        nodes => [line(Node) || Node <- verify_world:nodes(World)],
        events => [event(Entry) || Entry <- Shown],
        omitted => length(Trace) - length(Shown)
    },
    [node_json:encode(Document), $\n].

%% Internals.

%% Every node gets it at the beginning.
is_shown({_, {event, _, {members, _}}}) -> false;
is_shown({_, _}) -> true.

event({At, What}) ->
    (happened(What))#{at => At}.

happened({message, {From, To, Type, Occurrence}, Msg, Sent, Fate}) ->
    #{
        kind => message,
        from => line(From),
        to => line(To),
        type => Type,
        occurrence => Occurrence,
        sent => Sent,
        fate => fate(Fate),
        text => term(Msg)
    };
happened({event, Node, {call, _Ref, Request}}) ->
    at(call, Node, line(verify_steps:request(Request)));
happened({event, Node, {timer, Timer}}) ->
    at(timer, Node, term(Timer));
happened({event, Node, Event}) ->
    at(event, Node, term(Event));
happened({deliver, Node, Term}) ->
    at(deliver, Node, term(Term));
happened({reply, Node, _Ref, Answer}) ->
    at(reply, Node, term(Answer));
happened({crash, Node, Number}) ->
    at(crash, Node, line(io_lib:format("before its event ~b", [Number])));
happened({restart, Node}) ->
    at(restart, Node, <<>>);
happened({failed, {crashed, Node, _Event, Class, Reason, _Stack}}) ->
    at(failed, Node, term({Class, Reason}));
happened({failed, {looping, Node, _Event}}) ->
    at(failed, Node, <<"does not return">>).

at(Kind, Node, Text) ->
    #{kind => Kind, node => line(Node), text => Text}.

fate({corrupt, _}) -> corrupt;
fate(Fate) -> Fate.

%% Binaries of a protocol need not be text.
term(Term) ->
    case unicode:characters_to_binary(verify_steps:term(Term)) of
        Text when is_binary(Text) -> line(Text);
        _ -> line(io_lib:format("~0tp", [Term]))
    end.

line(Text) ->
    case string:length(Text) > ?MAX_TEXT of
        true -> unicode:characters_to_binary([string:slice(Text, 0, ?MAX_TEXT - 1), 16#2026]);
        false -> unicode:characters_to_binary(Text)
    end.
