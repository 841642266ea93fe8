"""`overlay set` of the plugin."""

import pytest

from fake_kubectl import NAMESPACE, FakeKubectl, run
from partisan_operator.cli.access import CommandError


def test_a_change_of_the_overlay_is_checked_before_it_is_made(kubectl: FakeKubectl) -> None:
    _, text = run(kubectl, "overlay", "set", "ads", "cyclon", "viewSize=8", "shuffleInterval=5s")
    patches = [words for words in kubectl.commands if words[0] == "patch"]
    assert ["--dry-run=server" in words for words in patches] == [True, False]
    (patch,) = kubectl.patches
    overlay = patch["spec"]["overlay"]
    assert overlay["kind"] == "Cyclon"
    assert overlay["cyclon"] == {"viewSize": 8, "shuffleInterval": "5s"}
    assert overlay["hyParView"] is None
    assert text.startswith("ads: HyParView activeMax=6 ")
    assert "\n  -> Cyclon viewSize=8 shuffleInterval=5s\n" in text
    assert f"kubectl partisan -n {NAMESPACE} rollout status ads" in text


def test_a_dry_run_changes_nothing(kubectl: FakeKubectl) -> None:
    _, text = run(kubectl, "overlay", "set", "ads", "XBot", "--dry-run")
    assert not kubectl.patches
    assert "Nothing was changed" in text


def test_an_error_of_the_api_server_is_reported_in_full(kubectl: FakeKubectl) -> None:
    kubectl.refusal = (
        'The PartisanCluster "ads" is invalid: spec.overlay.hyParView.activeMin: Invalid value:'
        " 9: activeMin must not exceed activeMax: lower activeMin or raise activeMax"
    )
    refused = r"^refused, nothing was changed: spec\.overlay\.hyParView\.activeMin.*raise activeMax"
    with pytest.raises(CommandError, match=refused):
        run(kubectl, "overlay", "set", "ads", "HyParView", "activeMin=9")
    assert not kubectl.patches


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["HyparVew"], r"no overlay 'HyparVew' \(did you mean HyParView\?\)"),
        (["XBot", "activemax=3"], r"XBot has no 'activemax' \(did you mean activeMax\?\)"),
        (["XBot", "activeMax"], "'activeMax' is not a parameter: write key=value"),
        (["XBot", "activeMax=1"], "XBot: activeMax: Input should be greater than or equal to 2"),
        (["XBot", "activeMax=7", "activeMax=8"], "XBot: activeMax is given twice"),
        (["XBot", "activeMax=many"], "XBot: activeMax: Input should be a valid integer"),
    ],
)
def test_a_bad_overlay_names_the_fault(
    kubectl: FakeKubectl, words: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        run(kubectl, "overlay", "set", "ads", *words)
    assert not kubectl.commands
