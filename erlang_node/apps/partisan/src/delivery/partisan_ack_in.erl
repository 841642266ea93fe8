%%% @doc Acknowledged delivery, receiver's half: the next expected number.
%%%
%%% A stream ({@link partisan_ack_out}) is accepted in order and without gaps. A lower number is a
%%% duplicate; a higher one means that a message was lost, and it will come again with all that
%%% follow it. So one integer is the whole state, nothing is buffered, and a message is delivered
%%% once however often it is sent.
-module(partisan_ack_in).

-export([new/0]).
-export([receive_number/2]).
-export([holds/1]).

-opaque t() :: Next :: partisan_ack_out:sequence().
-export_type([t/0]).

%% @doc A stream without messages.
-spec new() -> t().
new() ->
    1.

%% @doc Whether to deliver this number. The caller acknowledges `holds/1' in either case.
-spec receive_number(partisan_ack_out:sequence(), t()) -> {deliver | duplicate | gap, t()}.
receive_number(Number, Number) ->
    {deliver, Number + 1};
receive_number(Number, Next) when Number < Next ->
    {duplicate, Next};
receive_number(_Number, Next) ->
    {gap, Next}.

%% @doc The number up to which everything has been delivered; 0 for none.
-spec holds(t()) -> non_neg_integer().
holds(Next) ->
    Next - 1.
