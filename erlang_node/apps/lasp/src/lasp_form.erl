%%% @doc The form of a value: the paths of its parts, without their leaves.
%%%
%%% Once every node has counted, all replicas hold values of one form, and only the leaves change
%%% between exchanges. A replica that keeps the form of its own value therefore encodes and decodes
%%% only leaves: the paths of another's value are the same bytes, or are decoded anew. The encoding
%%% does not depend on what is kept.
%%%
%%% A path is kept as the type's own key ({@link lasp_lattice}), which finds the leaf in the value
%%% directly and joins it if larger: a received value is never built, since most of it is known.
%%% Leaves of one length form a column, and a column equal to the last one written here is skipped.
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

%% @doc Encodes a value; returns the bytes and the form, which speeds up the next encoding.
-spec encode(lasp_lattice:type(), Value :: term(), Before :: t() | none) -> {binary(), t()}.
encode(Type, Value, none) ->
    {ok, Form} = write(Type, Value, form_of(Type, Value)),
    {bytes(Form), Form};
encode(Type, Value, Before) ->
    case write(Type, Value, Before) of
        {ok, Form} -> {bytes(Form), Form};
        other_form -> encode(Type, Value, none)
    end.

%% @doc Joins an encoded value to another, and returns its new parts. The form is that of the other
%% value, or of an earlier state of it. Any other input, however malformed, is `error'.
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

%% A value with that many parts, all of them in the form, has no others.
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
