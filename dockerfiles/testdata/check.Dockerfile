# Checks an image, and makes none. Written by crun.
# The programs that work inside the build. They are mounted and never enter the image.
FROM debian:bookworm-slim AS toolbox
RUN --mount=type=tmpfs,target=/run \
    --mount=type=secret,id=crun-ca,target=/run/crun/ca.pem,mode=0444 \
    --mount=type=secret,id=crun-apt,target=/run/crun/apt.sed,mode=0444 \
    : 'get the tools: python' && \
    export DEBIAN_FRONTEND=noninteractive && \
    mkdir -p /run/crun/apt/parts && \
    apt="apt-get -q -o Acquire::Retries=3" && \
    if [ -s /run/crun/ca.pem ]; then apt="$apt -o Acquire::https::CaInfo=/run/crun/ca.pem"; fi && \
    if [ -s /run/crun/apt.sed ]; then \
        : > /run/crun/apt/sources.list && \
        if [ -e /etc/apt/sources.list ]; then sed -E -f /run/crun/apt.sed /etc/apt/sources.list > /run/crun/apt/sources.list; fi && \
        for file in /etc/apt/sources.list.d/*; do \
            if [ -e "$file" ]; then sed -E -f /run/crun/apt.sed "$file" > "/run/crun/apt/parts/${file##*/}"; fi; \
        done && \
        apt="$apt -o Dir::Etc::sourcelist=/run/crun/apt/sources.list -o Dir::Etc::sourceparts=/run/crun/apt/parts"; \
    fi && \
    { $apt update && $apt install -y --no-install-recommends python3 python3-pip; } >/run/crun/apt.log 2>&1 || \
    { tail -n 30 /run/crun/apt.log | sed -E 's,://[^/@ ]*@,://,g'; exit 1; }
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
# What is compiled here is not at each start; the files never change.
RUN : 'compile the tools' && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/crun/installer

FROM lab/train:v1 AS check
ARG CRUN_ANEW
USER 0
RUN --network=none \
    --mount=type=tmpfs,target=/run \
    --mount=type=bind,from=toolbox,target=/run/crun/toolbox \
    --mount=type=secret,id=crun-limits,target=/run/crun/limits.json \
    --mount=type=bind,source=check.json,target=/run/crun/check.json \
    ["/bin/sh", "-c", ": 'check that the packages can be imported' && /run/crun/toolbox/opt/crun/installer/start check /run/crun/check.json /crun-check.json"]
