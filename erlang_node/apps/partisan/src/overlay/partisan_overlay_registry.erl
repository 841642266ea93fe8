%%% @doc The kinds of overlays, with their modules and default parameters.
%%%
%%% Any other kind is the name of a user's own module of behaviour {@link partisan_overlay}.
-module(partisan_overlay_registry).

-export([known/0]).
-export([module/1]).
-export([preset/1]).
-export([is_usable/1]).
-export([can_split/1]).

-type kind() ::
    full_mesh
    | client_server
    | publish_subscribe
    | hyparview
    | xbot
    | cyclon
    | scamp_v1
    | scamp_v2
    | hiscamp
    | static
    | module().

-export_type([kind/0]).

%% @doc The kinds that come with the runtime.
-spec known() -> [kind()].
known() ->
    [
        full_mesh,
        client_server,
        publish_subscribe,
        hyparview,
        xbot,
        cyclon,
        scamp_v1,
        scamp_v2,
        hiscamp,
        static
    ].

%% @doc The module of a kind.
-spec module(kind()) -> module().
module(full_mesh) -> partisan_overlay_full_mesh;
module(client_server) -> partisan_overlay_client_server;
module(publish_subscribe) -> partisan_overlay_publish_subscribe;
module(hyparview) -> partisan_overlay_hyparview;
module(xbot) -> partisan_overlay_xbot;
module(cyclon) -> partisan_overlay_cyclon;
module(scamp_v1) -> partisan_overlay_scamp;
module(scamp_v2) -> partisan_overlay_scamp;
module(hiscamp) -> partisan_overlay_hiscamp;
module(static) -> partisan_overlay_static;
module(Module) -> Module.

%% @doc Default parameters that distinguish kinds of the same module.
-spec preset(kind()) -> map().
preset(scamp_v1) -> partisan_overlay_scamp:version_1();
preset(_Kind) -> #{}.

%% @doc Whether a module of this kind exists and exports the overlay callbacks.
-spec is_usable(term()) -> boolean().
is_usable(Kind) when is_atom(Kind) ->
    Module = module(Kind),
    Callbacks =
        partisan_overlay:behaviour_info(callbacks) --
            partisan_overlay:behaviour_info(optional_callbacks),
    code:ensure_loaded(Module) =:= {module, Module} andalso
        lists:all(fun({F, Arity}) -> erlang:function_exported(Module, F, Arity) end, Callbacks);
is_usable(_Other) ->
    false.

%% @doc Whether an overlay of this kind can be partitioned without any node noticing. Full meshes
%% and stars compare their members directly, and static edges are always redialled; partial views
%% need {@link partisan_beacon}.
-spec can_split(kind()) -> boolean().
can_split(Kind) ->
    not lists:member(Kind, [full_mesh, client_server, publish_subscribe, static]).
