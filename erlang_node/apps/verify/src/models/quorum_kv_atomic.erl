%%% @doc Strong consistency, as {@link quorum_kv} provides it: keys are atomic registers, requests
%%% may time out, and a write that timed out may take effect later or never. Corrects {@link
%%% quorum_kv_honest}: nothing is promised once a replica has lied, since quorums that intersect in
%%% one replica mask no lies (Malkhi, Reiter, "Byzantine quorum systems", 1998, section 4).
%%%
%%% The loss of a replica's disk (`disk_loss') breaks the promise that replicas keep what they have
%%% stored. It is injected only if a campaign names it.
-module(quorum_kv_atomic).

-export([faults/0]).

-include("quorum_kv_model.hrl").

%% @doc The loss of a disk.
-spec faults() -> [verify_model:custom_fault()].
faults() ->
    [
        #{
            name => disk_loss,
            arguments => [node],
            blames => fun(Nodes) -> Nodes end,
            actions => fun([Node]) -> [{crash, Node}, {forget, Node}, {restart, Node}] end
        }
    ].

%% Internals.

options() -> #{}.

nothing() -> quorum_kv_register:new().

learn(_Step, _Result, lied) -> lied;
learn({fault, byzantine, _}, _Result, _Registers) -> lied;
learn(Step, Result, Registers) -> quorum_kv_register:learn(Step, Result, Registers).

allows(_Read, _Result, lied) -> ok;
allows(Read, Result, Registers) -> quorum_kv_register:allows(Read, Result, Registers).

settled(_Contents, _Registers) -> ok.
