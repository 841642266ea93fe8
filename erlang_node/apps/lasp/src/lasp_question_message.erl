%%% @doc Questions and answers ({@link lasp_question}) as bytes.
%%%
%%% Both have the same layout: the question's asker and number, the sums (the previous result on the
%%% way down; those of the subtree on the way up), and what the receiver is to keep. The encoding of
%%% the latter two is up to the sender.
%%%
%%% ```
%%% <<Asker:6/binary, Number:varint, byte_size(Sums):varint, Sums/binary, Kept/binary>>
%%% '''
-module(lasp_question_message).

-export([encode/3]).
-export([decode/1]).

%% As in lasp_question.
-define(ASKER_BYTES, 6).

%% @doc Encodes a message.
-spec encode(lasp_question:id(), Sums :: binary(), Kept :: binary()) -> binary().
encode({Asker, Number}, Sums, Kept) ->
    iolist_to_binary([
        Asker, lasp_varint:encode(Number), lasp_varint:encode(byte_size(Sums)), Sums, Kept
    ]).

%% @doc Decodes a message to the arguments of `encode/3'; `error' for other bytes.
-spec decode(binary()) ->
    {ok, lasp_question:id(), Sums :: binary(), Kept :: binary()} | error.
decode(<<Asker:?ASKER_BYTES/binary, Bytes/binary>>) ->
    case lasp_varint:decode(Bytes) of
        {ok, Number, Rest} when Number > 0 ->
            case lasp_varint:decode(Rest) of
                {ok, Size, Values} when Size =< byte_size(Values) ->
                    {Sums, Kept} = split_binary(Values, Size),
                    % Askers are remembered for long, and must not keep whole messages alive.
                    {ok, {binary:copy(Asker), Number}, Sums, Kept};
                _ ->
                    error
            end;
        _ ->
            error
    end;
decode(_) ->
    error.
