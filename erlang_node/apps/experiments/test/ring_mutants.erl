%%% Planted bugs: copies of the ring's protocol modules with one line changed, under other names, so
%%% that the modules of a node contain no code for tests.
-module(ring_mutants).

-export([names/0, load/1]).


names() ->
    [
        vote_before_seal,
        dirty_writes_dropped,
        old_acknowledgement_counted,
        dot_reused,
        write_executed_twice,
        undelivered_hint_dropped
    ].

%% The module to change, the line as it is, and as it is wrong.
bug(vote_before_seal) ->
    {ring_seat_receiver, "received(_MoreOrLast, Seat) ->\n    pull(Seat).",
        "received(_MoreOrLast, Seat) ->\n    vote(groups(Seat), Seat)."};
bug(dirty_writes_dropped) ->
    {ring_handoff, "Sender#sender{dirty = maps:merge(Dirty, maps:from_list(Items))}.",
        "Sender#sender{dirty = Dirty}."};
bug(old_acknowledgement_counted) ->
    {ring_request, "not ring_known:is_over(Index, Incarnation, Known).",
        "is_tuple(Known) orelse is_tuple(Incarnation)."};
bug(dot_reused) ->
    {ring_kvs_vnode, "ring_replica:new({Index, Incarnation})",
        "ring_replica:new({Index, {0, 0 * element(2, Incarnation)}})"};
bug(write_executed_twice) ->
    {ring_request, "        _ -> {Request, []}\n    end;\nask_again",
        "        _ -> try_next(Request#request{untried = Indexes})\n    end;\nask_again"};

bug(undelivered_hint_dropped) ->
    {ring_hints, "{error, #{{P, Key} := Hint}} -> again({P, Key}, Hint, Hints);",
        "{error, #{{P, Key} := _}} -> remove({P, Key}, Hints);"}.

%% The modules to copy: the changed one, and those that call it.
copies(ring_handoff) -> [ring_handoff, ring_copies | seat()];
copies(ring_seat_receiver) -> seat();
copies(Module) -> [Module].

seat() -> [ring_seat, ring_seat_data, ring_seat_receiver, ring_seat_sender].

%% Compiles and loads the modules with a bug: the option `modules' of ring_simulation.
load(Name) ->
    {Module, Right, Wrong} = bug(Name),
    Copies = copies(Module),
    _ = [load(Name, M, Copies, [{Right, Wrong} || M =:= Module]) || M <- Copies],
    maps:from_list([
        {Role, renamed(M, Name)}
     || {Role, M} <- [
            {seat, ring_seat},
            {request, ring_request},
            {service, ring_kvs_vnode},
            {hints, ring_hints}
        ],
        lists:member(M, Copies)
    ]).

load(Name, Module, Copies, Changes) ->
    Source = proplists:get_value(source, Module:module_info(compile)),
    {ok, Bytes} = file:read_file(Source),
    Changed = lists:foldl(fun change/2, unicode:characters_to_list(Bytes), Changes),
    Renamed = lists:foldl(
        fun(M, Text) ->
            re:replace(
                Text,
                "\\b" ++ atom_to_list(M) ++ "\\b(?!_)",
                atom_to_list(renamed(M, Name)),
                [global, {return, list}]
            )
        end,
        Changed,
        Copies
    ),
    {ok, Loaded, Binary} = compile:forms(preprocess(Renamed, filename:dirname(Source)), [binary]),
    {module, Loaded} = code:load_binary(Loaded, atom_to_list(Loaded), Binary).

change({Right, Wrong}, Text) ->
    [Before, After] = string:split(Text, Right, all),
    Before ++ Wrong ++ After.

renamed(Module, Name) ->
    list_to_atom(atom_to_list(Module) ++ "__" ++ atom_to_list(Name)).

%% The preprocessor reads files only.
preprocess(Text, Directory) ->
    File = string:trim(os:cmd("mktemp")),
    ok = file:write_file(File, unicode:characters_to_binary(Text)),
    {ok, Forms} = epp:parse_file(File, [{includes, [Directory]}]),
    ok = file:delete(File),
    Forms.
