%%% @doc Symmetric neighbours for overlays with one-sided views: Cyclon and SCAMP.
%%%
%%% In those protocols a node chooses its view, and a chosen node need not know. Broadcasts, beacons
%%% and routing need a relation that both sides agree on. So the chooser sends `hold' to the chosen
%%% once per period, and `release' when it drops it; the held node links back. Neighbours are the
%%% chosen and the holders, each once its link is up. A holder silent for some periods is considered
%%% gone.
%%%
%%% These in-links are what SCAMP calls the InView, and `hold' is its heartbeat.
%%%
%%% With `one_sided' the module follows the papers: neighbours are the chosen, no link is pinned and
%%% nothing is sent. Published figures are compared with that.
%%%
%%% Part of an overlay's state; the overlay wraps the messages and calls `tick/1' once per period.
-module(partisan_symmetric_view).

-export([new/1]).
-export([choose/2]).
-export([drop/2]).
-export([message/3]).
-export([up/2]).
-export([down/2]).
-export([tick/1]).
-export([leave/1]).
-export([chosen/1]).
-export([chosen_size/1]).
-export([is_chosen/2]).
-export([holders/1]).
-export([neighbours/1]).
-export([passive/1]).

-type sides() :: two_sided | one_sided.
-type msg() :: {links, hold | release}.

-export_type([sides/0, msg/0]).

%% Periods without a `hold' after which a holder is considered gone.
-define(HOLDER_TIMEOUT, 3).

-record(link, {
    peer :: partisan_peer:t(),
    chosen = false :: boolean(),
    % Periods since the last `hold' of the peer; none: it does not hold us.
    silence = none :: none | non_neg_integer(),
    up = false :: boolean()
}).

-record(links, {
    sides :: sides(),
    chosen = #{} :: #{partisan_peer:name() => partisan_peer:t()},
    all = #{} :: #{partisan_peer:name() => #link{}}
}).

-opaque t() :: #links{}.
-export_type([t/0]).

-type result() :: {t(), [partisan_overlay:effect()]}.

%% API.

%% @doc An empty view.
-spec new(sides()) -> t().
new(Sides) ->
    #links{sides = Sides}.

%% @doc Adds a peer to the view.
-spec choose(partisan_peer:t(), t()) -> result().
choose(#{name := Name} = Peer, #links{sides = one_sided, chosen = Chosen} = L) ->
    case Chosen of
        #{Name := Known} ->
            {L#links{chosen = Chosen#{Name := partisan_peer:newest(Known, Peer)}}, []};
        #{} ->
            {L#links{chosen = Chosen#{Name => Peer}}, added(Peer)}
    end;
choose(#{name := Name} = Peer, #links{chosen = Chosen, all = All} = L) ->
    Hold = {send, Peer, {links, hold}},
    case All of
        #{Name := #link{chosen = true}} ->
            {L, []};
        #{Name := #link{peer = Known} = Link} ->
            Changed = All#{Name := Link#link{chosen = true}},
            {L#links{chosen = Chosen#{Name => Known}, all = Changed}, [Hold]};
        #{} ->
            Changed = All#{Name => #link{peer = Peer, chosen = true}},
            {L#links{chosen = Chosen#{Name => Peer}, all = Changed}, [{connect, Peer}, Hold]}
    end.

%% @doc Removes a peer from the view; it remains a neighbour if it holds us.
-spec drop(partisan_peer:name(), t()) -> result().
drop(Name, #links{chosen = Chosen} = L) when not is_map_key(Name, Chosen) ->
    {L, []};
drop(Name, #links{sides = one_sided, chosen = Chosen} = L) ->
    {L#links{chosen = maps:remove(Name, Chosen)}, [{neighbour_down, Name}]};
drop(Name, #links{chosen = Chosen, all = All} = L0) ->
    #{Name := #link{peer = Peer} = Link} = All,
    L = L0#links{
        chosen = maps:remove(Name, Chosen), all = All#{Name := Link#link{chosen = false}}
    },
    {L1, Effects} = unlink_unused(Name, L),
    {L1, [{send, Peer, {links, release}} | Effects]}.

%% @doc Handles `hold' and `release'.
-spec message(msg(), partisan_peer:t(), t()) -> result().
message(_Msg, _From, #links{sides = one_sided} = L) ->
    {L, []};
message({links, hold}, #{name := Name} = From, #links{all = All} = L) ->
    case All of
        #{Name := #link{peer = Known} = Link} ->
            case partisan_peer:supersedes(From, Known) of
                true when map_get(incarnation, Known) > 0 -> new_incarnation(From, L);
                _ -> {L#links{all = All#{Name := Link#link{silence = 0}}}, []}
            end;
        #{} ->
            {L#links{all = All#{Name => #link{peer = From, silence = 0}}}, [{connect, From}]}
    end;
message({links, release}, #{name := Name}, #links{all = All} = L) ->
    case All of
        #{Name := Link} ->
            unlink_unused(Name, L#links{all = All#{Name := Link#link{silence = none}}});
        #{} ->
            {L, []}
    end.

%% @doc Handles a link that came up.
-spec up(partisan_peer:t(), t()) -> result().
up(#{name := Name} = Peer, #links{chosen = Chosen, all = All} = L) ->
    case All of
        #{Name := #link{peer = Known, up = Up} = Link} ->
            Now = partisan_peer:newest(Known, Peer),
            L1 = L#links{
                all = All#{Name := Link#link{peer = Now, up = true}},
                chosen = replace(Name, Now, Chosen)
            },
            {L1, [Effect || not Up, Effect <- added(Now)]};
        #{} ->
            {L#links{chosen = replace(Name, Peer, Chosen)}, []}
    end.

%% @doc Removes a lost peer from the view and the links.
-spec down(partisan_peer:name(), t()) -> result().
down(Name, #links{sides = one_sided, chosen = Chosen} = L) ->
    {L#links{chosen = maps:remove(Name, Chosen)}, failed(Name, is_map_key(Name, Chosen))};
down(Name, #links{chosen = Chosen, all = All} = L) ->
    Up =
        case All of
            #{Name := #link{up = U}} -> U;
            #{} -> false
        end,
    L1 = L#links{chosen = maps:remove(Name, Chosen), all = maps:remove(Name, All)},
    {L1, failed(Name, Up)}.

%% @doc Advances by one period: sends `hold' to the chosen and drops silent holders.
-spec tick(t()) -> result().
tick(#links{sides = one_sided} = L) ->
    {L, []};
tick(#links{all = All} = L0) ->
    Holds = [{send, Peer, {links, hold}} || #link{chosen = true, peer = Peer} <- maps:values(All)],
    maps:fold(
        fun(Name, Link, {L, Effects}) ->
            {L1, More} = age(Name, Link, L),
            {L1, Effects ++ More}
        end,
        {L0, Holds},
        All
    ).

%% @doc Ends all links without sending anything.
-spec leave(t()) -> result().
leave(#links{sides = Sides} = L) ->
    Up = [{neighbour_down, Name} || #{name := Name} <- neighbours(L)],
    {new(Sides), Up ++ [{disconnect, Name} || Name <- maps:keys(L#links.all)]}.

%% @doc The peers in the view.
-spec chosen(t()) -> [partisan_peer:t()].
chosen(#links{chosen = Chosen}) ->
    maps:values(Chosen).

%% @doc The number of peers in the view.
-spec chosen_size(t()) -> non_neg_integer().
chosen_size(#links{chosen = Chosen}) ->
    map_size(Chosen).

%% @doc Whether a peer is in the view.
-spec is_chosen(partisan_peer:name(), t()) -> boolean().
is_chosen(Name, #links{chosen = Chosen}) ->
    is_map_key(Name, Chosen).

%% @doc The peers that hold us.
-spec holders(t()) -> [partisan_peer:t()].
holders(#links{all = All}) ->
    [Peer || #link{peer = Peer, silence = Silence} <- maps:values(All), Silence =/= none].

%% @doc The peers whose links are up; of a one-sided view, its peers.
-spec neighbours(t()) -> [partisan_peer:t()].
neighbours(#links{sides = one_sided} = L) ->
    chosen(L);
neighbours(#links{all = All}) ->
    [Peer || #link{peer = Peer, up = true} <- maps:values(All)].

%% @doc The chosen peers whose link is not up yet.
-spec passive(t()) -> [partisan_peer:t()].
passive(#links{all = All}) ->
    [Peer || #link{peer = Peer, up = false} <- maps:values(All)].

%% Internals.

added(Peer) ->
    [{neighbour_up, Peer}, {count, neighbour_added}].

failed(_Name, false) ->
    [];
failed(Name, true) ->
    [{neighbour_down, Name}, {count, neighbour_failed}].

replace(Name, Peer, Chosen) ->
    case Chosen of
        #{Name := _} -> Chosen#{Name := Peer};
        #{} -> Chosen
    end.

age(_Name, #link{silence = none}, L) ->
    {L, []};
age(Name, #link{silence = Silence} = Link, #links{all = All} = L) when Silence < ?HOLDER_TIMEOUT ->
    {L#links{all = All#{Name := Link#link{silence = Silence + 1}}}, []};
age(Name, Link, #links{all = All} = L) ->
    unlink_unused(Name, L#links{all = All#{Name := Link#link{silence = none}}}).

unlink_unused(Name, #links{all = All} = L) ->
    case All of
        #{Name := #link{chosen = false, silence = none, up = Up}} ->
            Down = [Effect || Up, Effect <- [{neighbour_down, Name}, {count, neighbour_left}]],
            {L#links{all = maps:remove(Name, All)}, Down ++ [{disconnect, Name}]};
        #{} ->
            {L, []}
    end.

%% A newer incarnation of a linked peer holds us: the old link is gone, whatever the socket says,
%% and the new one knows nothing of us.
new_incarnation(#{name := Name} = From, #links{chosen = Chosen, all = All} = L) ->
    #{Name := #link{chosen = IsChosen, up = Up}} = All,
    L1 = L#links{
        all = All#{Name := #link{peer = From, chosen = IsChosen, silence = 0}},
        chosen = replace(Name, From, Chosen)
    },
    {L1,
        [{neighbour_down, Name} || Up] ++
            [{disconnect, Name}, {connect, From}] ++
            [{send, From, {links, hold}} || IsChosen]}.
