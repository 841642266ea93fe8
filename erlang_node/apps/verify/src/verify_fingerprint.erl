%%% @doc Fingerprints of code, by which a replay notices that a protocol has changed since its
%%% counterexample was found.
%%%
%%% The fingerprint of a module is the MD5 of its abstract code without positions, so that neither a
%%% comment nor another release of the compiler changes it. A module without debug_info has that of
%%% its byte code.
-module(verify_fingerprint).

-export([code/1]).
-export([changed/1]).

-type hexadecimal() :: binary().
%% Of the module that a counterexample is about, and of all that it calls outside OTP as one.
-type t() :: #{module() | used => hexadecimal()}.

-export_type([t/0]).

%% @doc The fingerprints of a module and of what it uses.
-spec code(module()) -> t().
code(Module) ->
    Used = lists:delete(Module, closure([Module], [])),
    #{
        Module => hex(fingerprint(Module)),
        used => hex(erlang:md5([[atom_to_binary(M), fingerprint(M)] || M <- Used]))
    }.

%% @doc Modules with another fingerprint now, with both.
-spec changed(t()) -> [{module() | used, Then :: hexadecimal(), Now :: hexadecimal()}].
changed(Then) ->
    [Module] = maps:keys(maps:remove(used, Then)),
    Now = code(Module),
    [
        {What, Before, map_get(What, Now)}
     || {What, Before} <- lists:sort(maps:to_list(Then)), map_get(What, Now) =/= Before
    ].

%% Internals.

%% All modules outside OTP that these call, and they themselves; sorted.
closure([], Found) ->
    lists:sort(Found);
closure([Module | Rest], Found) ->
    case lists:member(Module, Found) orelse not is_own(Module) of
        true -> closure(Rest, Found);
        false -> closure(called(Module) ++ Rest, [Module | Found])
    end.

called(Module) ->
    case chunk(Module, imports) of
        {ok, Imports} -> lists:usort([Called || {Called, _, _} <- Imports]);
        error -> []
    end.

%% Erlang's own applications have a version in the names of their directories.
is_own(Module) ->
    case code:which(Module) of
        File when is_list(File), File =/= [] -> not lists:prefix(code:lib_dir(), File);
        _ -> false
    end.

fingerprint(Module) ->
    case chunk(Module, abstract_code) of
        {ok, {raw_abstract_v1, Forms}} ->
            verify_digest:term([plain(Form) || Form <- Forms, is_code(Form)]);
        _ ->
            Module:module_info(md5)
    end.

is_code({attribute, _, file, _}) -> false;
is_code({eof, _}) -> false;
is_code(_) -> true.

plain(Form) ->
    erl_parse:map_anno(fun(_) -> erl_anno:new(0) end, Form).

chunk(Module, Chunk) ->
    case code:get_object_code(Module) of
        {Module, Binary, _File} ->
            case beam_lib:chunks(Binary, [Chunk]) of
                {ok, {Module, [{Chunk, Content}]}} -> {ok, Content};
                {error, beam_lib, _} -> error
            end;
        error ->
            error
    end.

hex(Bytes) ->
    string:lowercase(binary:encode_hex(Bytes)).
