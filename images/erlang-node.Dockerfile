# The Erlang node: one release, and a BEAM as the container's first process.
#   docker build -f images/erlang-node.Dockerfile -t partisan/erlang-node .
# Tested on OTP 25, 27 and 29. Demo, end-to-end tests and benchmarks use OTP 27.
ARG BUILDER=erlang:26
ARG BASE=erlang:26-slim

FROM ${BUILDER} AS builder
WORKDIR /source
COPY erlang_node/ ./
# The release is configured, and its modules stripped, by the profile in rebar.config.
RUN rebar3 as prod release --output-dir /release \
    && escript scripts/trim_release.escript /release/partisan_node

FROM ${BASE}
COPY --from=builder /release/partisan_node /opt/partisan
# The root file system is read-only: a crash is logged, without a dump.
ENV ERL_CRASH_DUMP_SECONDS=0 \
    HOME=/tmp
USER 65532:65532
WORKDIR /opt/partisan
# 7946: peers; 8080: HTTP (metrics, health, status).
EXPOSE 7946 8080
# The start script replaces itself by the BEAM, which receives SIGTERM and leaves its cluster.
ENTRYPOINT ["/opt/partisan/bin/partisan_node", "foreground"]
