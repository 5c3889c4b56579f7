# What one writes by hand: the packages of examples/environment.yml in one RUN
# step, with the installer and all caches removed at its end.
ARG BASE
FROM ${BASE}
ARG CHANNEL
RUN --mount=type=secret,id=ca --mount=type=bind,source=install.py,target=/mnt/install.py \
    export DEBIAN_FRONTEND=noninteractive PIP_CERT=/run/secrets/ca SSL_CERT_FILE=/run/secrets/ca && \
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-pip >/dev/null && \
    python3 -m pip install -q --break-system-packages --target /opt/installer py-rattler==0.28.0 && \
    PYTHONPATH=/opt/installer python3 /mnt/install.py "$CHANNEL" /opt/conda/envs/spirals && \
    /opt/conda/envs/spirals/bin/pip install -q --no-cache-dir tqdm==4.66.5 && \
    { /opt/conda/envs/spirals/bin/python -m compileall -q /opt/conda/envs/spirals/lib/python3.9 >/dev/null || true; } && \
    apt-get purge -y -qq --auto-remove python3 python3-pip >/dev/null && \
    rm -rf /opt/installer /root/.cache /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /tmp/*
ENV PATH=/opt/conda/envs/spirals/bin:$PATH
RUN --mount=type=tmpfs,target=/tmp python -c "import torch, tqdm"
