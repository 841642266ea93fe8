"""Cells for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from scale_tests.experiments.experiment import Experiment, Point
from scale_tests.experiments.result import Component, Member, Result
from scale_tests.experiments.simulated import Simulated, simulated
from scale_tests.simulate.synchronization import Row

DOCUMENT: dict[str, Any] = {
    "name": "small",
    "title": "A small experiment",
    "sizes": [16, 8],
    "overlays": ["HyParView", {"kind": "ClientServer", "clientServer": {"servers": 2}}],
    "synchronizations": ["State", "Tree"],
    "speedup": 30,
}


def experiment(**changes: Any) -> Experiment:
    """A small experiment, with some fields of its file changed."""
    return Experiment.model_validate({**DOCUMENT, **changes})


def result(point: Point, **changes: Any) -> Result:
    """A cell of this point that went well."""
    member = Member(
        name="ads-0",
        seconds_to_boot=1.0,
        seconds_to_joined=2.0 + point.trial,
        seconds_to_ready=3.0 + point.trial,
        increments=180,
        bytes_payload=1 << 20,
        bytes_frames=2 << 20,
        bytes_tcp=3 << 20,
        cpu_seconds=1.0,
        memory_bytes=16 << 20,
    )
    figures: dict[str, Any] = {
        "nodes": point.nodes,
        "overlay": point.overlay.name,
        "synchronization": point.synchronization,
        "simulated": False,
        "speedup": point.speedup,
        "trial": point.trial,
        "seed": point.seed,
        "converged": True,
        "exact": True,
        "value": point.threshold,
        "increments_sum": point.threshold,
        "lost": 0,
        "threshold": point.threshold,
        "overcounting_percent": 0.0,
        "bytes_payload": point.nodes << 20,
        "bytes_frames": point.nodes << 21,
        "bytes_tcp": 3 * point.nodes << 20,
        "bytes_frames_by_channel": {"gossip": point.nodes << 21},
        "seconds_to_ready": 5.0,
        "seconds_to_joined": 4.0,
        "seconds_running": 62.0,
        "seconds_to_converge": 2.0,
        "seconds_to_delete": 3.0,
        "seconds_in_all": 80.0,
        "mean_degree": 4.5,
        "restarts": 0,
        "memory_kind": "pss",
        "memory_bytes_per_node": 16 << 20,
        "cpu_seconds_per_node": 1.0,
        "control_plane": (Component(name="kubelet", cpu_seconds=2.0, memory_bytes=100 << 20),),
        "members": (member,) * point.nodes,
        "busy_before": 0.1,
        "left": (),
        "error": None,
        "faults": None,
        "started": "2026-01-01T00:00:00+00:00",
        "versions": {"otp": "25", "source": "abc"},
        "machine": {
            "cpus": 2,
            "cpu_model": "model",
            "memory_bytes": 8 << 30,
            "kernel": "6.1",
        },
        "config": point.manifest(),
    }
    return Result(**{**figures, **changes})


def simulated_cell(**changes: Any) -> Simulated:
    """A simulated cell, of which 9 increments of each node were simulated."""
    row = Row(
        mode="tree",
        nodes=1024,
        increments=9,
        payload=0.5,
        control=0.1,
        frames=0.7,
        seconds_behind=1.0,
        seconds_to_converge=9.0,
    )
    return simulated(replace(row, **changes))


def write(directory: Path, text: str) -> Path:
    """A file with an experiment."""
    file = directory / "small.yaml"
    file.write_text(text)
    return file
