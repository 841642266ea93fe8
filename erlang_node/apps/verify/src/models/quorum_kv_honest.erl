%%% @doc A model of {@link quorum_kv} that corrects {@link quorum_kv_strong}, since a write that
%%% timed out may be visible, and has an incorrect assumption still: replicas do not lie. One that
%%% returns another value is noticed at best. {@link quorum_kv_atomic} corrects this.
-module(quorum_kv_honest).

-include("quorum_kv_model.hrl").

%% Internals.

options() -> #{}.

nothing() -> quorum_kv_register:new().

learn(Step, Result, Registers) -> quorum_kv_register:learn(Step, Result, Registers).

allows(Read, Result, Registers) -> quorum_kv_register:allows(Read, Result, Registers).

settled(_Contents, _Registers) -> ok.
