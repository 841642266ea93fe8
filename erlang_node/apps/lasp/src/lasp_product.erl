%%% @doc A product of replicated values: a tuple, usually a record, that is joined field by field.
%%%
%%% As with {@link lasp_gmap}, the types are not stored in the value: every function takes the
%%% fields, so that a composite type names its parts once. A field is a {@link lasp_lattice}, or a
%%% map of values of one; other elements of the tuple keep their left value.
%%%
%%% The composite type decides which paths belong to which field: a key names the field.
-module(lasp_product).

-export([merge/3]).
-export([difference/3]).
-export([to_parts/2]).
-export([size/2]).
-export([leaf/3]).
-export([join/4]).

-type lattice() :: lasp_lattice:type() | {map, lasp_lattice:type()}.
%% The position of each field in the tuple, and its type.
-type fields() :: [{Position :: pos_integer(), lattice()}].
-type key() :: {Position :: pos_integer(), lasp_lattice:key()}.

-export_type([fields/0, key/0]).

%% @doc Joins two values field by field.
-spec merge(fields(), Value, Value) -> Value when Value :: tuple().
merge(Fields, A, B) ->
    each(merge, Fields, A, B).

%% @doc The new part of each field.
-spec difference(fields(), Value, Known :: Value) -> Value when Value :: tuple().
difference(Fields, Value, Known) ->
    each(difference, Fields, Value, Known).

%% @doc The parts of all fields, in path order. A composite type with other paths has its own
%% version.
-spec to_parts(fields(), tuple()) -> [lasp_parts:part()].
to_parts(Fields, Value) ->
    lists:merge([call(Lattice, to_parts, [element(At, Value)]) || {At, Lattice} <- Fields]).

%% @doc The number of parts.
-spec size(fields(), tuple()) -> non_neg_integer().
size(Fields, Value) ->
    lists:sum([call(Lattice, size, [element(At, Value)]) || {At, Lattice} <- Fields]).

%% @doc The leaf of a part.
-spec leaf(fields(), key(), tuple()) -> lasp_parts:leaf() | none.
leaf(Fields, {At, Key}, Value) ->
    call(lattice(At, Fields), leaf, [Key, element(At, Value)]).

%% @doc Joins one part to the value.
-spec join(fields(), key(), lasp_parts:leaf(), Value) -> known | {grown, Value} | malformed when
    Value :: tuple().
join(Fields, {At, Key}, Leaf, Value) ->
    case call(lattice(At, Fields), join, [Key, Leaf, element(At, Value)]) of
        {grown, Grown} -> {grown, setelement(At, Value, Grown)};
        Other -> Other
    end.

%% Internals.

each(Function, Fields, A, B) ->
    lists:foldl(
        fun({At, Lattice}, Acc) ->
            setelement(At, Acc, call(Lattice, Function, [element(At, A), element(At, B)]))
        end,
        A,
        Fields
    ).

lattice(At, Fields) ->
    {At, Lattice} = lists:keyfind(At, 1, Fields),
    Lattice.

call({map, Type}, Function, Arguments) -> apply(lasp_gmap, Function, [Type | Arguments]);
call(Type, Function, Arguments) -> apply(Type, Function, Arguments).
