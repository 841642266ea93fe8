%%% @doc Rendezvous hashing: every node ranks the same owners for a key, without agreement.
%%%
%%% An owner's weight for a key is a hash of both, and the owner with the greatest weight is the
%%% first. When an owner is lost, only its own keys move, each to the next in its rank (Thaler and
%%% Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on
%%% Networking 1998).
-module(partisan_rendezvous).

-export([ranked/2]).

%% @doc The owners of a key, the first one first.
-spec ranked(Key :: term(), [Owner]) -> [Owner] when Owner :: partisan_peer:name().
ranked(Key, Owners) ->
    Weighed = [{erlang:phash2({Key, Owner}), Owner} || Owner <- Owners],
    [Owner || {_, Owner} <- lists:reverse(lists:sort(Weighed))].
