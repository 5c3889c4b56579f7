# The image of an environment, from its crun.lock. Written by crun.
# The programs that work inside the build. They are mounted and never enter the image.
FROM debian AS toolbox
RUN --mount=type=tmpfs,target=/run \
    --mount=type=secret,id=crun-ca,target=/run/crun/ca.pem,mode=0444 \
    --mount=type=secret,id=crun-apt,target=/run/crun/apt.list,mode=0444 \
    : 'get the tools: python' && \
    mkdir -p /run/crun && \
    export DEBIAN_FRONTEND=noninteractive && \
    apt="apt-get -q -o Acquire::Retries=3" && \
    if [ -s /run/crun/ca.pem ]; then apt="$apt -o Acquire::https::CaInfo=/run/crun/ca.pem"; fi && \
    if [ -s /run/crun/apt.list ]; then \
        . /etc/os-release && sed "s/CODENAME/$VERSION_CODENAME/" /run/crun/apt.list > /run/crun/sources.list && \
        apt="$apt -o Dir::Etc::sourcelist=/run/crun/sources.list -o Dir::Etc::sourceparts=-"; \
    fi && \
    { $apt update && $apt install -y --no-install-recommends python3 python3-pip; } >/run/crun/apt.log 2>&1 || \
    { tail -n 30 /run/crun/apt.log; exit 1; }
RUN --mount=type=tmpfs,target=/run \
    --mount=type=bind,source=toolbox.txt,target=/run/crun/toolbox.txt \
    --mount=type=secret,id=crun-ca,target=/run/crun/ca.pem \
    --mount=type=secret,id=crun-pip,target=/run/crun/pip.conf \
    : 'get the tools: rattler and uv' && \
    if [ -s /run/crun/ca.pem ]; then export PIP_CERT=/run/crun/ca.pem; fi && \
    if [ -s /run/crun/pip.conf ]; then export PIP_CONFIG_FILE=/run/crun/pip.conf; fi && \
    python3 -m pip install -q --root-user-action=ignore --no-deps --require-hashes --no-cache-dir --disable-pip-version-check \
        --target /opt/crun/site-packages -r /run/crun/toolbox.txt
COPY installer /opt/crun/installer

FROM debian AS image
ENV PATH=/opt/conda/bin:$PATH \
    CONDA_PREFIX=/opt/conda \
    CONDA_DEFAULT_ENV="base" \
    CONDA_SHLVL=1 \
    PYTHONNOUSERSITE=1
LABEL a="b"

# Nothing of this stage is in the image.
FROM image AS check
RUN --network=none \
    --mount=type=bind,from=toolbox,source=/opt/crun/installer,target=/run/crun/installer \
    : 'check that the packages can be imported' && \
    PYTHONDONTWRITEBYTECODE=1 PYTHONFAULTHANDLER=1 /opt/conda/bin/python -s /run/crun/installer/check.py
