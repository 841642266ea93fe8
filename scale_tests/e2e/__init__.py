"""End-to-end tests: real pods on a real Kubernetes, the operator installed from its chart.

All tests share one cluster and one operator, and each file has a namespace of its own. A wait has
no deadline but ends when nothing moves any more, so a busy machine is slow and not red.
"""
