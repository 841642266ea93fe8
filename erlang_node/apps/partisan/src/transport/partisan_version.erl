%%% @doc The version of the wire format that two nodes use on a connection.
%%%
%%% | version | differs by |
%%% | ------- | ---------- |
%%% | 1       | the first one: nodes refuse every other version |
%%% | 2       | each connection negotiates its version |
%%%
%%% Each side offers its range of versions, and both choose the highest common one.
%%%
%%% == Where the offer travels ==
%%% Nodes of version 1 refuse a handshake of any other form, so the offer is part of a field that is
%%% random to them, the nonce, as in TLS 1.3:
%%%
%%% ```
%%% +-----------+--------+----------+-----------+
%%% | random 22 | mark 8 | lowest 1 | highest 1 |  bytes
%%% +-----------+--------+----------+-----------+
%%% '''
%%%
%%% A nonce without the mark comes from a node of version 1; one in 2^64 of those has the mark by
%%% chance. The handshake's proofs cover both nonces: an altered offer ends the connection.
-module(partisan_version).

-export([nonce/0]).
-export([nonce/1]).
-export([agreed/1]).
-export([agreed/2]).
-export([offer/1]).

-define(LOWEST, 1).
-define(HIGHEST, 2).

-define(RANDOM_BYTES, 22).
-define(MARK, 16#9d1c5f0b72e8a643:64).

-type t() :: 1..255.
-type offer() :: {Lowest :: t(), Highest :: t()}.
-export_type([t/0, offer/0]).

%% @doc A fresh nonce with the offer of this node.
-spec nonce() -> <<_:256>>.
nonce() ->
    nonce({?LOWEST, ?HIGHEST}).

%% @doc A fresh nonce with this offer.
-spec nonce(offer()) -> <<_:256>>.
nonce({Lowest, Highest}) ->
    <<(crypto:strong_rand_bytes(?RANDOM_BYTES))/binary, ?MARK, Lowest, Highest>>.

%% @doc The version to use with the sender of this nonce; `none' without a common one.
-spec agreed(Nonce :: binary()) -> t() | none.
agreed(Nonce) ->
    agreed({?LOWEST, ?HIGHEST}, offer(Nonce)).

%% @doc The version that two nodes with these offers use.
-spec agreed(offer(), offer()) -> t() | none.
agreed({LowestA, HighestA}, {LowestB, HighestB}) ->
    case min(HighestA, HighestB) of
        Version when Version >= LowestA, Version >= LowestB -> Version;
        _ -> none
    end.

%% @doc The offer in a nonce.
-spec offer(Nonce :: binary()) -> offer().
offer(<<_:?RANDOM_BYTES/binary, ?MARK, Lowest, Highest>>) when Lowest > 0, Lowest =< Highest ->
    {Lowest, Highest};
offer(_) ->
    {1, 1}.
