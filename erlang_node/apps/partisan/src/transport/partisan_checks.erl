%%% @doc Sampling of receivers: whose message queues a connection checks.
%%%
%%% Asking a process for its queue length costs more than sending it a message: if it runs or has
%%% signals waiting, it answers itself. A connection therefore samples its messages and checks their
%%% receivers. However many there are, each receives the same number of messages between two checks
%%% on average. Samples are random, since senders in a fixed rotation could otherwise hide a
%%% receiver for ever.
-module(partisan_checks).

-export([new/0]).
-export([allow/2]).
-export([delivered/2]).
-export([due/1]).
-export([checked/2]).

-record(checks, {
    % Messages that a process receives between two checks, on average.
    few = 1 :: pos_integer(),
    % Messages until the next sample.
    next = 1 :: pos_integer(),
    due = [] :: [pid()]
}).

-opaque t() :: #checks{}.
-export_type([t/0]).

%% @doc A sampler that checks the receiver of the first message.
-spec new() -> t().
new() ->
    #checks{}.

%% @doc Sets how much a process may receive between two checks: a quarter of the messages that the
%% connection may deliver unchecked, or one.
-spec allow(Share :: non_neg_integer(), t()) -> t().
allow(Share, Checks) ->
    Checks#checks{few = max(1, Share div 4)}.

%% @doc Counts a delivered message.
-spec delivered(pid(), t()) -> t().
delivered(Pid, #checks{next = 1, few = Few, due = Due} = Checks) ->
    Sampled = [Pid | lists:delete(Pid, Due)],
    Checks#checks{next = rand:uniform(2 * Few - 1), due = Sampled};
delivered(_Pid, #checks{next = Next} = Checks) ->
    Checks#checks{next = Next - 1}.

%% @doc The processes whose queues are due for a check.
-spec due(t()) -> [pid()].
due(#checks{due = Due}) ->
    Due.

%% @doc Marks them as checked; congested ones stay due.
-spec checked(Congested :: [pid()], t()) -> t().
checked(Congested, Checks) ->
    Checks#checks{due = Congested}.
