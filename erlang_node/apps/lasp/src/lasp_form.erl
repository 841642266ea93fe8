%%% @doc The form of a value: the paths of its parts, without their leaves.
%%%
%%% Replicas of a cluster in which all have counted once hold values of one form, and only the
%%% leaves change from one exchange to the next. So who keeps the form of its own value writes and
%%% reads the leaves alone: the paths of another's value are the same bytes, or are read anew.
%%% What is written does not depend on what is kept.
%%%
%%% A path is kept as the type's own key for it ({@link lasp_lattice}), by which the leaf is found
%%% in the value at once, and joined to it where it is larger: a value that is received is never
%%% made, for most of it is known. Leaves of one length make a column, and a column that is as it
%%% was written here last is not looked into.
-module(lasp_form).

-export([encode/3]).
-export([join/4]).

-record(form, {
    paths :: binary(),
    columns :: [column()],
    size :: non_neg_integer()
}).

-type column() :: {Length :: non_neg_integer(), [lasp_lattice:key()], Written :: binary()}.

-opaque t() :: #form{}.

-export_type([t/0]).

%% @doc The bytes of a value, and what was written: of help is what was written before.
-spec encode(lasp_lattice:type(), Value :: term(), Before :: t() | none) -> {binary(), t()}.
encode(Type, Value, none) ->
    {ok, Form} = write(Type, Value, form_of(Type, Value)),
    {bytes(Form), Form};
encode(Type, Value, Before) ->
    case write(Type, Value, Before) of
        {ok, Form} -> {bytes(Form), Form};
        other_form -> encode(Type, Value, none)
    end.

%% @doc Joins a value that `encode/3' wrote to another, and tells what of it was new there. The form
%% is that of the other value, or of what it was before it grew. Anything else, however malformed,
%% is `error'.
-spec join(lasp_lattice:type(), binary(), Value, t() | none) ->
    {ok, New :: [lasp_lattice:keyed()], Value} | error
when
    Value :: term().
join(Type, Bytes, Value, Form) ->
    case lasp_parts:split(Bytes) of
        {ok, Paths, Leaves} -> join_columns(columns(Type, Paths, Form), Leaves, Type, Value, []);
        error -> error
    end.

%% Internals: forms.

form_of(Type, Value) ->
    Shapes = [{Path, length(Leaf)} || {Path, Leaf} <- Type:to_parts(Value)],
    {ok, Columns} = keyed(Type, Shapes),
    #form{
        paths = lasp_parts:encode_paths(Shapes),
        columns = Columns,
        size = length(Shapes)
    }.

columns(_Type, Paths, #form{paths = Paths, columns = Columns}) ->
    {ok, Columns};
columns(Type, Paths, _Form) ->
    case lasp_parts:decode_paths(Paths) of
        {ok, Shapes} -> keyed(Type, Shapes);
        error -> error
    end.

keyed(Type, Shapes) ->
    Keyed = [{Length, Type:key(Path)} || {Path, Length} <- Shapes],
    case lists:keymember(error, 2, Keyed) of
        true -> error;
        false -> {ok, [{Length, of_length(Length, Keyed), <<>>} || Length <- lengths(Keyed)]}
    end.

lengths(Keyed) ->
    lists:usort([Length || {Length, _} <- Keyed]).

of_length(Length, Keyed) ->
    [Key || {L, {ok, Key}} <- Keyed, L =:= Length].

%% Internals: writing.

bytes(#form{paths = Paths, columns = Columns}) ->
    lasp_parts:assemble(Paths, << <<Written/binary>> || {_, _, Written} <- Columns >>).

%% A value with as many parts, all of which the form has, has no other.
write(Type, Value, #form{columns = Columns, size = Size} = Form) ->
    case Type:size(Value) of
        Size -> write_columns(Columns, Type, Value, [], Form);
        _ -> other_form
    end.

write_columns([{Length, Keys, _} | Columns], Type, Value, Done, Form) ->
    case write_leaves(Keys, lasp_parts:first(Length), Type, Value, <<>>) of
        other_form -> other_form;
        Written -> write_columns(Columns, Type, Value, [{Length, Keys, Written} | Done], Form)
    end;
write_columns([], _Type, _Value, Done, Form) ->
    {ok, Form#form{columns = lists:reverse(Done)}}.

write_leaves([Key | Keys], Before, Type, Value, Bytes) ->
    case Type:leaf(Key, Value) of
        none -> other_form;
        Leaf -> write_leaves(Keys, Leaf, Type, Value, lasp_parts:add_leaf(Leaf, Before, Bytes))
    end;
write_leaves([], _Before, _Type, _Value, Bytes) ->
    Bytes.

%% Internals: reading.

join_columns({ok, [{Length, Keys, Written} | Columns]}, Bytes, Type, Value, New) ->
    Size = byte_size(Written),
    case Bytes of
        <<Written:Size/binary, Rest/binary>> when Size > 0 ->
            join_columns({ok, Columns}, Rest, Type, Value, New);
        _ ->
            case join_leaves(Keys, lasp_parts:first(Length), Bytes, Type, Value, New) of
                {Rest, Joined, More} -> join_columns({ok, Columns}, Rest, Type, Joined, More);
                error -> error
            end
    end;
join_columns({ok, []}, <<>>, _Type, Value, New) ->
    {ok, New, Value};
join_columns(_, _, _, _, _) ->
    error.

join_leaves([Key | Keys], Before, Bytes, Type, Value, New) ->
    case lasp_parts:next_leaf(Before, Bytes) of
        {Leaf, Rest} ->
            case Type:join(Key, Leaf, Value) of
                known -> join_leaves(Keys, Leaf, Rest, Type, Value, New);
                {grown, Grown} -> join_leaves(Keys, Leaf, Rest, Type, Grown, [{Key, Leaf} | New]);
                malformed -> error
            end;
        error ->
            error
    end;
join_leaves([], _Before, Bytes, _Type, Value, New) ->
    {Bytes, Value, New}.
