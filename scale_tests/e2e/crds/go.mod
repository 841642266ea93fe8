// The Prometheus operator and KEDA, for the definitions of their kinds alone: nothing of them is
// compiled. The chart's monitors and rules, and the example of a ScaledObject, are checked against
// them; see ../definitions.py.
module partisan.dev/scale_tests/e2e/crds

go 1.26.0

require (
	github.com/kedacore/keda/v2 v2.21.0 // indirect
	github.com/prometheus-operator/prometheus-operator v0.85.0 // indirect
)
