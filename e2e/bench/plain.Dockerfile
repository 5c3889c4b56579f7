# What one writes by hand: the packages of an environment in one RUN step, with
# the installer and all caches removed at its end. bench.go fills in the @@s.
ARG BASE
FROM ${BASE}
ARG CHANNEL
ARG INDEX
ARG HOST
RUN --mount=type=secret,id=ca --mount=type=bind,source=install.py,target=/mnt/install.py @CACHES@\
    export DEBIAN_FRONTEND=noninteractive PIP_CERT=/run/secrets/ca SSL_CERT_FILE=/run/secrets/ca && \
    export PIP_INDEX_URL=$INDEX PIP_TRUSTED_HOST=$HOST PIP_ROOT_USER_ACTION=ignore && \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-pip >/dev/null && \
    python3 -m pip install -q @NOCACHE@ --break-system-packages --target /opt/installer py-rattler==0.28.0 && \
    PYTHONPATH=/opt/installer python3 /mnt/install.py "$CHANNEL" /opt/conda/envs/@NAME@@SPECS@ && \
    /opt/conda/envs/@NAME@/bin/pip install -q @NOCACHE@@PIP@ && \
    { /opt/conda/envs/@NAME@/bin/python -m compileall -q /opt/conda/envs/@NAME@/lib/python3.9 >/dev/null || true; } && \
    apt-get purge -y -qq --auto-remove python3 python3-pip >/dev/null && \
    rm -rf /opt/installer @CLEAN@ /var/log/* /tmp/*
ENV PATH=/opt/conda/envs/@NAME@/bin:$PATH
RUN --mount=type=tmpfs,target=/tmp python -c "import @MODULES@"
