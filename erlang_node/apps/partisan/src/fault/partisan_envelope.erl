%%% @doc The user's message within a message of the transport.
%%%
%%% Rules of faults are about what an application sends, whatever carries it: `{put, k, v}' is of
%%% type `put' as a message, as the request of a call or a cast, between instances of a
%%% {@link partisan_process}, and in an acknowledged stream, each retransmission of which is another
%%% occurrence. The streams' own messages are of the type
%%% `partisan_acks', those of calls and monitors `partisan_remote', answers `partisan_reply'.
-module(partisan_envelope).

-export([open/2]).
-export([replace/3]).

%% @doc The user's message.
-spec open(partisan_ref:destination(), Message :: term()) -> term().
open(partisan_acks, {data, _, _, {message, {plain, To, Message}}, _}) ->
    open(To, Message);
open(partisan_acks, {data, _, _, {message, {causal, _, _, To, Message}}, _}) ->
    open(To, Message);
open(partisan_acks, Message) ->
    {partisan_acks, Message};
open(partisan_remote, {partisan_remote, _, _, {call, #{request := Request}}}) ->
    Request;
open(_To, {'$gen_cast', Request}) ->
    Request;
open(_To, {partisan_process, _From, Message}) ->
    Message;
open(_To, Message) ->
    Message.

%% @doc The message with another one of the user's in it.
-spec replace(partisan_ref:destination(), Message :: term(), Other :: term()) -> term().
replace(partisan_acks, {data, Stream, Number, {message, Content}, ReplyTo}, Other) ->
    {data, Stream, Number, {message, in_content(Content, Other)}, ReplyTo};
replace(partisan_acks, _Message, {partisan_acks, Other}) ->
    Other;
replace(partisan_remote, {partisan_remote, Origin, Incarnation, {call, Call}}, Other) ->
    {partisan_remote, Origin, Incarnation, {call, Call#{request := Other}}};
replace(_To, {'$gen_cast', _}, Other) ->
    {'$gen_cast', Other};
replace(_To, {partisan_process, From, _}, Other) ->
    {partisan_process, From, Other};
replace(_To, _Message, Other) ->
    Other.

%% Internals.

in_content({plain, To, Message}, Other) ->
    {plain, To, replace(To, Message, Other)};
in_content({causal, Label, Stamp, To, Message}, Other) ->
    {causal, Label, Stamp, To, replace(To, Message, Other)}.
