"""The Grafana dashboards, written in Python and committed as JSON in the chart."""
