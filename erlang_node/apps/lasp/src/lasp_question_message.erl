%%% @doc Questions and answers ({@link lasp_question}) as bytes.
%%%
%%% Both are laid out alike: whose question it is and which one, the sums (those that all have come
%%% to, on the way down; those below the sender, on the way up), and what the receiver is to keep.
%%% What these are in turn encoded as is the sender's business.
%%%
%%% ```
%%% <<Asker:6/binary, Number:varint, byte_size(Sums):varint, Sums/binary, Kept/binary>>
%%% '''
-module(lasp_question_message).

-export([encode/3]).
-export([decode/1]).

%% As long as lasp_question makes them.
-define(ASKER_BYTES, 6).

%% @doc The message.
-spec encode(lasp_question:id(), Sums :: binary(), Kept :: binary()) -> binary().
encode({Asker, Number}, Sums, Kept) ->
    iolist_to_binary([
        Asker, lasp_varint:encode(Number), lasp_varint:encode(byte_size(Sums)), Sums, Kept
    ]).

%% @doc The parts that `encode/3' was given; `error' for bytes that it does not write.
-spec decode(binary()) ->
    {ok, lasp_question:id(), Sums :: binary(), Kept :: binary()} | error.
decode(<<Asker:?ASKER_BYTES/binary, Bytes/binary>>) ->
    case lasp_varint:decode(Bytes) of
        {ok, Number, Rest} when Number > 0 ->
            case lasp_varint:decode(Rest) of
                {ok, Size, Values} when Size =< byte_size(Values) ->
                    {Sums, Kept} = split_binary(Values, Size),
                    % Askers are remembered for long, and are not to hold on to whole messages.
                    {ok, {binary:copy(Asker), Number}, Sums, Kept};
                _ ->
                    error
            end;
        _ ->
            error
    end;
decode(_) ->
    error.
