%%% docs/reference/distributed-erlang.md, generated from the table of calls and the differences.
-module(comparison_page).

-export([check/0]).

%% Whether the page is that of the tables; with PUBLISH=1 in the environment it is written first.
check() ->
    File = filename:join([comparison_results:root(), "docs", "reference", "distributed-erlang.md"]),
    Page = unicode:characters_to_binary(page()),
    _ = [ok = file:write_file(File, Page) || os:getenv("PUBLISH") =:= "1"],
    case file:read_file(File) of
        {ok, Page} -> ok;
        _ -> {error, "PUBLISH=1 rebar3 eunit --module=comparison_tests writes the page"}
    end.

page() ->
    Calls = comparison_cases:all(),
    [
        "# The runtime compared with Distributed Erlang\n\n"
        "Generated from `erlang_node/apps/comparison`: ",
        integer_to_list(length(Calls)),
        " cases run once over Distributed Erlang and once over the runtime on each overlay, on "
        "OTP 25 and 27, between operating-system processes. `make test` fails if an outcome "
        "differs without a reason below. The outcomes are in `build/results/api.json`.\n\n"
        "## Deliberate differences\n\n"
        "| Distributed Erlang | upstream Partisan | this runtime |\n|---|---|---|\n",
        [
            difference(Disterl, Upstream, Ours)
         || {_, Disterl, Upstream, Ours} <- comparison_differences:all()
        ],
        [
            difference(Disterl, Upstream, Ours)
         || {Disterl, Upstream, Ours} <- comparison_differences:without_cases()
        ],
        "\n–: upstream's documents do not say, and it was not tried.\n\n"
        "[Order](../explanation/delivery.md#order) lists what is ordered differently. So a "
        "`DOWN` may have the reason `noproc` if the process ends before the monitor has reached "
        "its node.\n\n"
        "## Cases\n\n"
        "Different: on at least one overlay, for one of the reasons above.\n\n"
        "| call | cases | of them errors and losses | different |\n|---|---|---|---|\n",
        [row(Call, Calls) || Call <- lists:usort([Call || {Call, _, _, _} <- Calls])]
    ].

difference(Disterl, "", Ours) ->
    difference(Disterl, "–", Ours);
difference(Disterl, Upstream, Ours) ->
    ["| ", Disterl, " | ", Upstream, " | ", Ours, " |\n"].

row(Call, Calls) ->
    Own = [{Case, Kind} || {C, Case, Kind, _} <- Calls, C =:= Call],
    Errors = [Case || {Case, Kind} <- Own, Kind =/= ok],
    Different = [Case || {Case, _} <- Own, comparison_differences:reason(Call, Case) =/= none],
    Counts = [integer_to_list(length(List)) || List <- [Own, Errors, Different]],
    ["| `", Call, "` | ", lists:join(" | ", Counts), " |\n"].
