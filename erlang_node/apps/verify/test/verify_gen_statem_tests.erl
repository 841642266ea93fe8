%%% @doc A hosted `gen_statem' against OTP's own: the same callbacks in the same order.
-module(verify_gen_statem_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(STATES, [a, b, c]).
-define(CONTENTS, [1, 2]).
%% Does not pass within the test.
-define(LONG, 3600000).

equal_test_() ->
    {timeout, 600, fun() ->
        {ok, Hosted} = verify_host:load(verify_test_statem),
        Options = [{numtests, 500}, {to_file, user}],
        ?assert(proper:quickcheck(prop_equal(Hosted), Options))
    end}.

prop_equal(Hosted) ->
    ?FORALL({Program, Events}, {program(), list({oneof([cast, info]), content()})}, begin
        {ok, Live} = verify_test_statem:start(Program),
        Options = #{self => <<"n">>, members => [<<"n">>], seed => {1, 2, 3}},
        {State, _} = Hosted:init(Options#{argument => Program}),
        IsEqual = equal(Events, Live, Hosted, State),
        ok = gen_statem:stop(Live),
        IsEqual
    end).

equal(Events, Live, Hosted, State) ->
    case {verify_hosted:state(State), sys:get_state(Live), Events} of
        {Same, Same, []} ->
            true;
        {Same, Same, [{Type, Content} | Rest]} ->
            Msg =
                case Type of
                    cast -> {'$gen_cast', Content};
                    info -> Content
                end,
            Live ! Msg,
            {Next, _} = Hosted:handle({message, <<"m">>, Msg}, State),
            equal(Rest, Live, Hosted, Next);
        {Ours, Theirs, _} ->
            io:format("hosted ~p~notp ~p~n", [Ours, Theirs]),
            false
    end.

%% Generators.

program() ->
    Keys =
        [{State, enter} || State <- ?STATES] ++
            [
                {State, Type, Content}
             || State <- ?STATES,
                Type <- [cast, info, internal, state_timeout, {timeout, n}, timeout],
                Content <- ?CONTENTS
            ],
    ?LET(Steps, [{Key, step(Key)} || Key <- Keys], maps:from_list(Steps)).

%% Entering a state cannot postpone, insert events or go elsewhere.
step({_State, enter}) ->
    {keep, short_list(timer_action())};
step(_Key) ->
    {frequency([{2, keep}, {1, repeat}, {3, oneof(?STATES)}]), short_list(action())}.

short_list(Element) ->
    frequency([{2, []}, {3, [Element]}, {2, [Element, Element]}, {1, [Element, Element, Element]}]).

action() ->
    frequency([
        {2, postpone},
        {2, {next_event, internal, content()}},
        {4, timer_action()}
    ]).

timer_action() ->
    ?LET({Timer, Content}, {timer(), content()},
        oneof([
            {Timer, 0, Content},
            {Timer, ?LONG, Content},
            {Timer, infinity, Content},
            {Timer, cancel},
            {Timer, update, Content}
        ])
    ).

timer() ->
    oneof([timeout, state_timeout, {timeout, n}]).

content() ->
    oneof(?CONTENTS).
