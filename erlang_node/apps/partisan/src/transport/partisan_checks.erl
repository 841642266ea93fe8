%%% @doc Whose message queues a connection checks: of the messages it delivers, the receivers of a
%%% random few.
%%%
%%% To ask a process for the length of its queue costs more than to send it a message: where it
%%% runs, or has signals waiting, it answers by itself. So a connection does not ask each of its
%%% receivers each time, but samples its messages. However many receivers there are, each of them
%%% gets the same number between two checks on average: one that gets much is asked often. The
%%% samples are random, or senders that take turns could hide one of them for ever.
-module(partisan_checks).

-export([new/0]).
-export([allow/2]).
-export([delivered/2]).
-export([due/1]).
-export([checked/2]).

-record(checks, {
    % How many messages a process gets between two checks, on average.
    few = 1 :: pos_integer(),
    % The message that is the next sample, counted from now.
    next = 1 :: pos_integer(),
    due = [] :: [pid()]
}).

-opaque t() :: #checks{}.
-export_type([t/0]).

%% @doc The receiver of the first message is checked.
-spec new() -> t().
new() ->
    #checks{}.

%% @doc Sets what a process may get between two checks: a quarter of the messages that the
%% connection may deliver unchecked, or one.
-spec allow(Share :: non_neg_integer(), t()) -> t().
allow(Share, Checks) ->
    Checks#checks{few = max(1, Share div 4)}.

%% @doc A message has been delivered.
-spec delivered(pid(), t()) -> t().
delivered(Pid, #checks{next = 1, few = Few, due = Due} = Checks) ->
    Sampled = [Pid | lists:delete(Pid, Due)],
    Checks#checks{next = rand:uniform(2 * Few - 1), due = Sampled};
delivered(_Pid, #checks{next = Next} = Checks) ->
    Checks#checks{next = Next - 1}.

%% @doc Those whose queues are to be checked.
-spec due(t()) -> [pid()].
due(#checks{due = Due}) ->
    Due.

%% @doc They have been; the congested ones among them stay due.
-spec checked(Congested :: [pid()], t()) -> t().
checked(Congested, Checks) ->
    Checks#checks{due = Congested}.
