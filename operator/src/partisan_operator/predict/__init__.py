"""What a cluster will cost, predicted before it is launched.

    from partisan_operator.predict import Assumptions, manifest, predict, simulator

    cluster = manifest.load(open("cluster.yaml").read())
    prediction = predict(cluster, simulator.find(), Assumptions(pods_per_second=3))

The figures are *simulated*: the program `partisan_plan` runs the nodes' own protocol modules in
virtual time on the very configuration that the pods would read. `scenario` says which clusters are
simulated, for large ones are predicted from smaller ones; `prediction` makes figures of what came
out. `kubectl partisan plan` is this in a terminal, and `cli.plan_page` shows it.
"""

from partisan_operator.predict.prediction import Prediction, predict
from partisan_operator.predict.scenario import Assumptions

__all__ = ["Assumptions", "Prediction", "predict"]
