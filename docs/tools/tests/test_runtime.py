"""The page of the runtime's functions."""

import pytest

from docs.tools.runtime import MODULES, PAGE, first_sentence, functions, page

MODULE = """\
%%% @doc A module.
-module(a).
-export([first/1, second/0]).
-export([init/1]).

%% @doc Does `this' ({@link b}) and
%% that. Then more.
-spec first(
    integer()
) -> ok.
first(_) -> ok.

%% @equiv first(1)
-spec second() -> ok.
second() -> first(1).

%% @private
-spec init(term()) -> ok.
init(_) -> ok.

%% Only here.
-spec inner() -> ok.
inner() -> ok.
"""


def test_exported_functions_have_their_first_sentence_and_their_type() -> None:
    assert list(functions(MODULE)) == [
        "%% Does `this` (`b`) and that.\nfirst(\n    integer()\n) -> ok.\n",
        "%% The same as `first(1)`.\nsecond() -> ok.\n",
    ]


@pytest.mark.parametrize(
    ("comment", "sentence"),
    [
        ("%%% @doc One of `a.b' and c.\n%%%\n%%% More.", "One of `a.b` and c."),
        ("%% @doc Settings: Each is one.", "Settings."),
        ("%% @doc No end", "No end."),
    ],
)
def test_the_first_sentence_of_a_comment(comment: str, sentence: str) -> None:
    assert first_sentence(comment) == sentence


def test_every_module_has_functions() -> None:
    sections = page().split("\n## ")[1:]
    assert [section.partition("\n")[0] for section in sections] == list(MODULES)
    assert all(") -> " in section for section in sections)


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text() == page(), "make reference"
