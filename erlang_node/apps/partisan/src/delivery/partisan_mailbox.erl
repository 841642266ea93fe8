%%% @doc The bound of a mailbox: when those that deliver to a process hold back.
-module(partisan_mailbox).

-export([is_congested/1]).

%% @doc Whether more than `mailbox_messages' wait for a process. `false' for a dead one.
-spec is_congested(pid()) -> boolean().
is_congested(Pid) ->
    case process_info(Pid, message_queue_len) of
        {message_queue_len, Length} -> Length > partisan_config:get(mailbox_messages);
        undefined -> false
    end.
