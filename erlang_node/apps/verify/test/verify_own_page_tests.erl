%% docs/tutorials/verify-your-protocol.md: its modules compile and its commands end as the page
%% says.
-module(verify_own_page_tests).

-include_lib("eunit/include/eunit.hrl").

page_test_() ->
    {timeout, 600, fun() ->
        File = filename:join([root(), "docs", "tutorials", "verify-your-protocol.md"]),
        {ok, Page} = file:read_file(File),
        [First, Owner, Durable] = blocks(<<"erlang">>, Page),
        Outputs = blocks(<<>>, Page),
        Commands = [C || B <- blocks(<<"sh">>, Page), C <- commands(B)],
        [Explore1, Replay1, Draw, Explore2, Explore3, Explore4, Replay2] = Commands,
        Directory = string:trim(os:cmd("mktemp -d")),
        Write = fun(Text) -> ok = file:write_file(filename:join(Directory, "seat.erl"), Text) end,
        Ends = fun(Status, Command) ->
            ?assertEqual({Command, Status}, {Command, run(Command, Directory)})
        end,
        Write(First),
        Ends(1, Explore1),
        ?assertEqual([lines(lists:nth(1, Outputs))], texts(Directory)),
        Ends(0, Replay1),
        Ends(0, Draw),
        Write(with(Owner, First)),
        Ends(0, Explore2),
        Ends(1, Explore3),
        ?assert(lists:member(lines(lists:nth(2, Outputs)), texts(Directory))),
        Write(with(with_functions(Durable, Owner), First)),
        Ends(0, Explore4),
        Ends(1, Replay2),
        ok = file:del_dir_r(Directory)
    end}.

%% Internals.

%% The fenced blocks of a language; the empty one is that of outputs.
blocks(Language, Page) ->
    Fenced = "^```([a-z]*)\\n(.*?)^```$",
    Options = [global, multiline, dotall, {capture, all_but_first, binary}],
    {match, Blocks} = re:run(Page, Fenced, Options),
    [Block || [L, Block] <- Blocks, L =:= Language].

commands(Block) ->
    Lines = binary:split(Block, <<"\n">>, [global, trim]),
    [tl(string:lexemes(binary_to_list(L), " ")) || <<"partisan_verify ", _/binary>> = L <- Lines].

%% As a shell would: in that directory, with the first file that a pattern matches.
run(Words, Directory) ->
    {ok, Before} = file:get_cwd(),
    ok = file:set_cwd(Directory),
    try
        verify_main:run([expanded(Word) || Word <- Words])
    after
        file:set_cwd(Before)
    end.

expanded(Word) ->
    case lists:member($*, Word) of
        true -> hd(lists:sort(filelib:wildcard(Word)));
        false -> Word
    end.

%% The lines of an output from the faults on.
lines(Output) ->
    [L || L <- binary:split(Output, <<"\n">>, [global]), is_line_of_text(L)].

is_line_of_text(Line) ->
    lists:any(
        fun(Start) -> string:prefix(Line, Start) =/= nomatch end,
        [<<"fault ">>, <<"n1 ">>, <<"n2 ">>, <<"n3 ">>, <<"final ">>]
    ).

texts(Directory) ->
    [
        begin
            {ok, Text} = file:read_file(filename:join(Directory, File)),
            lines(binary:replace(Text, <<"%% ">>, <<>>, [global]))
        end
     || File <- filelib:wildcard("*.counterexample", Directory)
    ].

%% The page's first module with other functions.
with(Functions, Module) ->
    [Head, Rest] = binary:split(Module, <<"init(">>),
    [_, Tail] = binary:split(Rest, <<"%% Three calls">>),
    [Head, Functions, <<"\n%% Three calls">>, Tail].

with_functions(Durable, Owner) ->
    [_, Sell] = binary:split(Owner, <<"\nsell(">>),
    <<Durable/binary, "\nsell(", Sell/binary>>.

root() ->
    {source, Source} = lists:keyfind(source, 1, verify_main:module_info(compile)),
    Up = fun(_, Directory) -> filename:dirname(Directory) end,
    lists:foldl(Up, Source, [file, src, verify, apps, erlang_node]).
