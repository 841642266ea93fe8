// The Prometheus operator, for the definitions of its kinds alone: nothing of it is compiled. The
// monitors and rules of the chart are checked against them; see ../definitions.py.
module partisan.dev/scale_tests/monitoring/kinds

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0 // indirect
