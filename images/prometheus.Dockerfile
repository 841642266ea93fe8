# Prometheus for the local cluster: scrapes the nodes and the operator as it would elsewhere.
#   docker build -f images/prometheus.Dockerfile -t partisan/prometheus .
ARG BASE=prom/prometheus:v2.53.5

FROM ${BASE}
USER 65532:65532
WORKDIR /tmp
EXPOSE 9090
# Where the official image has it, and Debian's package by the link from /bin.
ENTRYPOINT ["/bin/prometheus"]
