"""`python -m charts.tools`: every check of the Helm chart that needs no cluster."""
