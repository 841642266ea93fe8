%%% @doc Spreads changes of replicated data to the same handler on every node, along the overlay's
%%% broadcast tree ({@link partisan_plumtree}).
%%%
%%% ```
%%% ok = partisan_broadcast:add_handler(my_register),
%%% ok = my_register:store(colour, blue),
%%% ok = partisan_broadcast:send({colour, blue}, my_register).
%%% '''
%%%
%%% A handler is a module with the behaviour {@link partisan_broadcast_handler}, added here or by
%%% the setting `broadcast_handlers'. Add it on every node: one without it passes changes on, but
%%% cannot return them to a neighbour that missed them.
-module(partisan_broadcast).

-export([add_handler/1]).
-export([remove_handler/1]).
-export([handlers/0]).
-export([send/2]).

%% @doc Adds a handler until the application stops. Idempotent.
-spec add_handler(module()) -> ok | {error, Description :: string()}.
add_handler(Handler) ->
    case partisan_broadcast_handler:is_handler(Handler) of
        true ->
            partisan_handlers:add(Handler);
        false ->
            Text = "~0p is no partisan_broadcast_handler: load a module with all five callbacks",
            {error, lists:flatten(io_lib:format(Text, [Handler]))}
    end.

%% @doc Removes a handler; changes that wait for it are dropped. Idempotent.
-spec remove_handler(module()) -> ok.
remove_handler(Handler) ->
    partisan_handlers:remove(Handler).

%% @doc The handlers of this node.
-spec handlers() -> [module()].
handlers() ->
    partisan_handlers:all().

%% @doc Sends a change to the handler on all other nodes. The caller has made it to the local data;
%% the local handler does not merge it. It shares the overlay's channel, so keep it small.
-spec send(Change :: term(), module()) -> ok | {error, {too_large, Bytes :: pos_integer()}}.
send(Change, Handler) ->
    {Key, Data} = Handler:broadcast_data(Change),
    partisan_manager:spread({Handler, Key}, Data).
