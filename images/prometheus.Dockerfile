# Prometheus for the cluster of demo and tests: it scrapes nodes and operator as any other would.
#   python -m images.builder build prometheus
# Any image serves in its place that has the program in its path, such as prom/prometheus.
ARG BASE=debian:bookworm-slim

FROM ${BASE}
COPY build/prometheus/prometheus /usr/local/bin/prometheus
USER 65532:65532
WORKDIR /tmp
EXPOSE 9090
ENTRYPOINT ["/usr/local/bin/prometheus"]
