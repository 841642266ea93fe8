# Prometheus for the cluster of demo and tests.
#   python -m images.builder build prometheus
# Any other image with the program in its path works too, such as prom/prometheus.
ARG BASE=debian:bookworm-slim

FROM ${BASE}
COPY build/prometheus/prometheus /usr/local/bin/prometheus
USER 65532:65532
WORKDIR /tmp
EXPOSE 9090
ENTRYPOINT ["/usr/local/bin/prometheus"]
