%%% @doc The output of `partisan_verify' for people.
-module(verify_report).

-export([explored/2]).
-export([ordered/2]).
-export([checked/2]).
-export([own/1]).
-export([counterexample/2]).
-export([changed/1]).
-export([replayed/4]).
-export([diagram/2]).

%% @doc The result of an exploration.
-spec explored(verify_search:t(), verify_explore:result()) -> ok.
explored(#{module := Module, nodes := Nodes, scope := Scope, order := Order}, Result) ->
    #{executions := Executions, failing := Failing, seconds := Seconds} = Result,
    io:format(
        "~ts, ~b nodes, scope ~ts, order ~ts: ~ts ~ts, ~ts failing, ~.2f s~n",
        [Module, Nodes, Scope, Order, number(Executions), kind(Scope), number(Failing), Seconds]
    ),
    raw(Scope, Result),
    fewest(Result),
    frontier(Result).

%% @doc The result of an exploration of orders.
-spec ordered(module(), map()) -> ok.
ordered(Module, #{executions := Executions, failing := Failing, examples := Examples} = Result) ->
    io:format("~ts: ~ts orders, ~ts failing~n", [Module, number(Executions), number(Failing)]),
    frontier(Result),
    [
        io:format("~ts~n~ts", [Violated, [delivery(Key) || Key <- Order]])
     || #{order := Order, violated := Violated} <- lists:sublist(Examples, 1)
    ],
    ok.

%% @doc The result of a search through a protocol of the runtime.
-spec own(verify_own:result()) -> ok.
own(#{protocol := Protocol, executions := Executions, failing := Failing} = Result) ->
    #{nodes := Nodes, faults := Faults, seconds := Seconds, counterexample := Found} = Result,
    io:format("~ts, ~b nodes, up to ~b faults: ~ts distinct executions, ~ts failing, ~.1f s~n", [
        Protocol, Nodes, Faults, number(Executions), number(Failing), Seconds
    ]),
    case Found of
        none ->
            ok;
        {Schedule, Why} ->
            [io:format("~ts~n", [verify_steps:fault(Step)]) || Step <- Schedule],
            io:format("final : FAIL, ~ts~n", [verify_steps:term(Why)])
    end.

%% @doc The result of a campaign.
-spec checked(module(), verify_campaign:report()) -> ok.
checked(Model, #{executions := Executions, failed := Failed, counterexamples := Found}) ->
    io:format("~ts: ~ts executions, ~ts failing, ~b different counterexamples~n", [
        Model, number(Executions), number(Failed), length(Found)
    ]).

%% @doc A counterexample that has been written, and the command that replays it.
-spec counterexample(file:filename(), Subject :: string()) -> ok.
counterexample(File, Subject) ->
    {ok, Counterexample} = verify_counterexample:read(File),
    Code = [[" code=", Subject] || filename:extension(Subject) =:= ".erl"],
    io:format("~n~ts~nWritten: ~ts~nAgain:   partisan_verify replay ~ts --step~ts~n", [
        verify_counterexample:text(Counterexample), File, File, Code
    ]).

%% @doc A warning: code has changed since a counterexample was found.
-spec changed({module() | used, binary(), binary()}) -> ok.
changed({What, Then, Now}) ->
    io:format(standard_error, "warning: ~ts has changed since: MD5 ~ts then, ~ts now~n", [
        changed_what(What), Then, Now
    ]).

%% @doc Replays: the first one, in steps if asked for, and how many are the same.
-spec replayed(
    #{step := boolean(), _ => _},
    verify_counterexample:t(),
    verify_replay:result(),
    {Same :: non_neg_integer(), Times :: pos_integer()}
) -> ok.
replayed(#{step := Step}, #{violated := Violated, digest := Digest}, First, {Same, Times}) ->
    #{world := World, verdict := Verdict, unmet := Unmet} = First,
    _ = [stepped(Line) || Step, Line <- verify_steps:lines(verify_world:trace(World))],
    [
        io:format("~b decisions are about messages that this execution does not have~n", [Count])
     || Count <- [length(Unmet)], Count > 0
    ],
    case {Same, Verdict} of
        {Times, _} ->
            io:format("the same again, ~b of ~b times: ~ts~ndigest ~ts~n", [
                Same, Times, Violated, Digest
            ]);
        {_, ok} ->
            io:format("not violated: the recorded violation was: ~ts~n", [Violated]);
        {_, {violated, Violated}} ->
            io:format("violated as recorded, by another execution in ~b of ~b replays: ~ts~n", [
                Times - Same, Times, Violated
            ]);
        {_, {violated, Other}} ->
            io:format("violated in another way: ~ts~nrecorded: ~ts~n", [Other, Violated])
    end.

%% @doc The space-time diagram of a counterexample.
-spec diagram(Title :: unicode:chardata(), verify_counterexample:t()) -> iodata().
diagram(Title, Counterexample) ->
    #{world := World} = verify_replay:run(Counterexample),
    Lines = string:lexemes(verify_counterexample:text(Counterexample), "\n"),
    verify_diagram:svg(
        #{title => Title, text => Lines, nodes => verify_world:nodes(World)},
        verify_world:trace(World)
    ).

%% Internals.

kind(raw) -> "subsets of the messages";
kind(_) -> "executions".

raw(base, #{raw := #{executions := Executions, failing := Failing}}) ->
    io:format("as subsets of the messages: ~ts, ~ts failing~n", [
        number(Executions), number(Failing)
    ]);
raw(_Scope, _Result) ->
    ok.

fewest(#{fewest := none}) ->
    ok;
fewest(#{fewest := #{decisions := Decisions, failing := Failing, classes := Classes}}) ->
    io:format("fewest faults: ~b; such executions: ~ts, up to symmetry ~ts~n", [
        Decisions, number(Failing), number(Classes)
    ]).

frontier(#{complete := true}) ->
    ok;
frontier(#{executions := Executions, frontier := Frontier}) ->
    io:format("explored ~ts, frontier not empty: at least ~ts more; this proves nothing~n", [
        number(Executions), number(Frontier)
    ]).

delivery({From, To, Type, Occurrence}) ->
    io_lib:format("~ts -> ~ts  ~ts ~b~n", [From, To, Type, Occurrence]).

changed_what(used) -> "a module that it uses";
changed_what(Module) -> atom_to_list(Module).

%% With a terminal, a line at each Enter.
stepped(Line) ->
    io:format("~ts", [Line]),
    case io:rows() of
        {ok, _} -> _ = io:get_line("");
        {error, _} -> io:nl()
    end.

%% With commas between thousands.
number(N) when N < 1000 -> integer_to_list(N);
number(N) -> [number(N div 1000), io_lib:format(",~3..0b", [N rem 1000])].
