%%% @doc Acknowledged delivery, the receiver's half: the next number to take, and nothing else.
%%%
%%% A stream ({@link partisan_ack_out}) is taken in order and without holes: a number that came
%%% before is a duplicate, one beyond the next means that something was lost and will come again
%%% with all that follows it. So there is nothing to buffer and nothing to remember but one integer,
%%% and a message is delivered once however often it is sent.
-module(partisan_ack_in).

-export([new/0]).
-export([receive_number/2]).
-export([holds/1]).

-opaque t() :: Next :: partisan_ack_out:sequence().
-export_type([t/0]).

-spec new() -> t().
new() ->
    1.

%% @doc Is this number to be delivered? The caller acknowledges `holds/1' in either case.
-spec receive_number(partisan_ack_out:sequence(), t()) -> {deliver | duplicate | gap, t()}.
receive_number(Number, Number) ->
    {deliver, Number + 1};
receive_number(Number, Next) when Number < Next ->
    {duplicate, Next};
receive_number(_Number, Next) ->
    {gap, Next}.

%% @doc The highest number up to which everything has been delivered; 0 for none.
-spec holds(t()) -> non_neg_integer().
holds(Next) ->
    Next - 1.
