%%% build/results/api.json: the cells of the last run on each release of OTP.
-module(comparison_results).

-export([write/1, root/0]).

%% Runs on two releases may end at the same time: each has a file of its own, and the document is
%% made of those that are there.
write(Cells) ->
    Otp = list_to_binary(erlang:system_info(otp_release)),
    Results = filename:join([root(), "build", "results"]),
    Parts = filename:join(Results, "api"),
    ok = filelib:ensure_dir(filename:join(Parts, "any")),
    Lines = [node_json:encode(json(Cell#{otp => Otp})) || Cell <- Cells],
    ok = replace(filename:join(Parts, binary_to_list(Otp)), lists:join(",\n", Lines)),
    All = [
        begin {ok, Part} = file:read_file(File), Part end
     || File <- filelib:wildcard(filename:join(Parts, "[0-9][0-9]"))
    ],
    Document = ["{\"cells\":[\n", lists:join(",\n", All), "\n]}\n"],
    replace(filename:join(Results, "api.json"), Document).

root() ->
    lists:foldl(
        fun(_, Path) -> filename:dirname(Path) end, filename:absname(?FILE), lists:seq(1, 5)
    ).

json(#{call := Call, 'case' := Case} = Cell) ->
    Cell#{call := list_to_binary(Call), 'case' := unicode:characters_to_binary(Case)}.

replace(File, Text) ->
    Partial = File ++ "." ++ os:getpid(),
    ok = file:write_file(Partial, Text),
    file:rename(Partial, File).
