-module(workload_backup_tests).

-include_lib("proper/include/proper.hrl").
-include_lib("eunit/include/eunit.hrl").

-define(B, workload_backup).

round_trip_test_() ->
    Property = ?FORALL(Backup, backup(), ?B:decode(?B:encode(Backup)) =:= {ok, Backup}),
    {timeout, 60, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 300}]))}.

%% Wherever a byte is lost or changed.
damage_test_() ->
    Property = ?FORALL(
        {Backup, At, Byte},
        {backup(), nat(), byte()},
        begin
            Bytes = ?B:encode(Backup),
            Position = At * 31 rem byte_size(Bytes),
            <<Before:Position/binary, Was, After/binary>> = Bytes,
            Changed = <<Before/binary, Byte, After/binary>>,
            is_refused(Before) andalso (Byte =:= Was orelse is_refused(Changed))
        end
    ),
    {timeout, 60, ?_assert(proper:quickcheck(Property, [{to_file, user}, {numtests, 500}]))}.

is_refused(Bytes) ->
    {error, Text} = ?B:decode(Bytes),
    is_binary(iolist_to_binary(Text)).

written_test() ->
    Content = <<
        "partisan-backup 1\n"
        "cluster ads\n"
        "namespace staging\n"
        "workload adcounter\n"
        "taken 2026-11-21T18:36:30Z\n"
        "parameter b 1\n"
        "\n"
        "a 1\n"
    >>,
    ?assertEqual(sealed(Content), ?B:encode(example())).

refused_test_() ->
    Content = content(?B:encode(example())),
    [
        {Problem, ?_assertMatch({Problem, {match, _}}, {Problem, re:run(reason(Bytes), Problem)})}
     || {Problem, Bytes} <- [
            {"is empty", <<>>},
            {"is not a backup", <<"{}">>},
            {"is not a backup", <<"partisan-backup one\n">>},
            {"is truncated", <<"partisan-backup 1">>},
            {"is truncated", <<"partisan-backup 1\ncluster ads\n">>},
            {"is truncated", Content},
            {"has the format 2, of a later release: upgrade", <<"partisan-backup 2\n">>},
            {"is corrupt", sealed(Content, <<Content/binary, "b 2\n">>)},
            {"no text", sealed(<<Content/binary, "b", 200, " 2\n">>)},
            {"no text", sealed(<<Content/binary, "b", 0, " 2\n">>)},
            {"out of order", sealed(<<Content/binary, "a 2\n">>)},
            {"out of order", sealed(<<Content/binary, (long("b", 257))/binary, " 2\n">>)},
            {"no count", sealed(<<Content/binary, "b 0\n">>)},
            {"no count", sealed(<<Content/binary, "b 02\n">>)},
            {"no count", sealed(<<Content/binary, "b -2\n">>)},
            {"no count", sealed(<<Content/binary, "b 9223372036854775808\n">>)},
            {"no count", sealed(<<Content/binary, "b ", (long("9", 9999))/binary, "\n">>)},
            {"does not end", sealed(<<Content/binary, "b 2">>)},
            {"no empty line", sealed(<<"partisan-backup 1\ncluster ads\n">>)},
            {"lacks a line", sealed(<<"partisan-backup 1\ncluster ads\n\n">>)},
            {"not that of namespace", sealed(<<"partisan-backup 1\ncluster ads\nspace a\n\n">>)},
            {"RFC 3339", sealed(replaced(Content, <<"taken 2026">>, <<"taken last">>))},
            {"no value, or two", sealed(replaced(Content, <<"b 1\n">>, <<"b\n">>))},
            {"more than 1 MiB", long("a", 1048577)}
        ]
    ].

long(Byte, Times) ->
    binary:copy(list_to_binary(Byte), Times).

reason(Bytes) ->
    {error, Text} = ?B:decode(Bytes),
    Text.

example() ->
    #{
        cluster => <<"ads">>,
        namespace => <<"staging">>,
        workload => <<"adcounter">>,
        taken => 1795286190,
        parameters => #{<<"b">> => <<"1">>},
        entries => #{<<"a">> => 1}
    }.

content(Bytes) ->
    binary:part(Bytes, 0, byte_size(Bytes) - 72).

%% With a checksum of this content, or of another.
sealed(Content) ->
    sealed(Content, Content).

sealed(Of, Content) ->
    Sum = string:lowercase(binary:encode_hex(crypto:hash(sha256, Of))),
    <<Content/binary, "sha256 ", Sum/binary, "\n">>.

replaced(Content, This, That) ->
    iolist_to_binary(string:replace(Content, This, That)).

backup() ->
    ?LET(
        {Cluster, Taken, Parameters, Entries},
        {word(), range(0, 4000000000), list({word(), word()}), list({word(), pos_integer()})},
        (example())#{
            cluster := Cluster,
            taken := Taken,
            parameters := maps:from_list(Parameters),
            entries := maps:from_list(Entries)
        }
    ).

%% Printable, whatever the value was.
word() ->
    ?LET(Bytes, non_empty(binary()), ?B:text(Bytes)).
