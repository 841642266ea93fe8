"""Predicts the behaviour and costs of a cluster before its launch.

    from partisan_operator.predict import Assumptions, manifest, predict, simulator

    cluster = manifest.load(open("cluster.yaml").read())
    prediction = predict(cluster, simulator.find(), Assumptions(pods_per_second=3))

The figures are *simulated*: the program `partisan_plan` runs the nodes' protocol modules in virtual
time, with the configuration that the pods would read. `scenario` chooses the clusters to simulate,
since large ones are predicted from smaller ones; `prediction` turns the results into figures.
`kubectl partisan plan` is the command, and `cli.plan_page` its output.
"""

from partisan_operator.predict.prediction import Prediction, predict
from partisan_operator.predict.scenario import Assumptions

__all__ = ["Assumptions", "Prediction", "predict"]
