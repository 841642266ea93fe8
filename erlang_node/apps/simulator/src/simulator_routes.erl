%%% @doc The routes found by simulated nodes, and the paths of messages along them.
-module(simulator_routes).

-export([new/0]).
-export([learn/4]).
-export([forget/3]).
-export([walk/4]).

-type index() :: simulator_peer:index().

-opaque t() :: #{{At :: index(), To :: index()} => Via :: index()}.
-export_type([t/0]).

%% @doc No routes.
-spec new() -> t().
new() ->
    #{}.

%% @doc Records that one node reaches another by way of a third.
-spec learn(At :: index(), To :: index(), Via :: index(), t()) -> t().
learn(At, To, Via, Routes) ->
    Routes#{{At, To} => Via}.

%% @doc A node no longer has a route to another.
-spec forget(At :: index(), To :: index(), t()) -> t().
forget(At, To, Routes) ->
    maps:remove({At, To}, Routes).

%% @doc The nodes that a message passes, both ends included, or the one where it is stuck: at a node
%% without a link to the next, or already visited. Non-neighbours are reached over the route.
-spec walk(From :: index(), To :: index(), Neighbours :: fun((index()) -> [index()]), t()) ->
    {ok | stuck, [index()]}.
walk(From, To, Neighbours, Routes) ->
    walk(From, To, [], Neighbours, Routes).

%% Internals.

walk(To, To, Passed, _Neighbours, _Routes) ->
    {ok, lists:reverse([To | Passed])};
walk(At, To, Passed, Neighbours, Routes) ->
    Next = maps:get({At, To}, Routes, To),
    case lists:member(Next, Neighbours(At)) andalso not lists:member(At, Passed) of
        true -> walk(Next, To, [At | Passed], Neighbours, Routes);
        false -> {stuck, lists:reverse([At | Passed])}
    end.
