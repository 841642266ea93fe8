# The operator and its locked Python packages.
#   pip download --require-hashes -r operator/requirements.txt -d build/wheels
#   docker build -f images/operator.Dockerfile -t partisan/operator .
ARG BUILDER=python:3.11-slim
ARG BASE=python:3.11-slim

FROM ${BUILDER} AS builder
COPY operator/requirements.txt build/wheels/ /wheels/
# Nothing is downloaded: the wheels came with the build context, and their hashes are checked.
# Byte code is unchecked, since a layer does not keep the time stamps of its source; all of it is
# compiled again (-f), since pip has left some with time stamps of the packages that it imports.
RUN python3 -m venv /opt/operator \
    && /opt/operator/bin/pip install --quiet --no-cache-dir --no-index --no-compile \
        --disable-pip-version-check --find-links /wheels --require-hashes \
        -r /wheels/requirements.txt \
    && /opt/operator/bin/pip uninstall --quiet --yes pip setuptools \
    && /opt/operator/bin/python -m compileall -q -f --invalidation-mode unchecked-hash /opt/operator
COPY operator/src/ /opt/source/
RUN /opt/operator/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/source

FROM ${BASE}
# The packages change rarely, the operator often: two layers.
COPY --from=builder /opt/operator /opt/operator
COPY --from=builder /opt/source /opt/source
ENV PYTHONPATH=/opt/source \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp
USER 65532:65532
WORKDIR /tmp
# Metrics and health.
EXPOSE 9090
ENTRYPOINT ["/opt/operator/bin/python", "-m", "partisan_operator"]
