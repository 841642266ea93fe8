"""`python -m scale_tests.chart`: every check of the Helm chart that needs no cluster."""
