# What one writes by hand: the packages of examples/environment.yml in one RUN
# step, with the installer and all caches removed at its end.
ARG BASE
FROM ${BASE}
ARG CHANNEL
RUN --mount=type=secret,id=ca \
    export DEBIAN_FRONTEND=noninteractive PIP_CERT=/run/secrets/ca SSL_CERT_FILE=/run/secrets/ca && \
    apt-get update -q && apt-get install -y -q --no-install-recommends python3 python3-pip && \
    python3 -m pip install -q --break-system-packages --target /opt/installer py-rattler==0.28.0 && \
    PYTHONPATH=/opt/installer python3 -c "import asyncio, sys, rattler as r; \
        specs = [r.MatchSpec(s, strict=False) for s in ('python=3.9', 'pytorch=1.*', 'numpy', 'pip')]; \
        virtual = [r.GenericVirtualPackage(r.PackageName(n), r.Version(v), '0') for n, v in (('__linux', '6.1'), ('__glibc', '2.36'), ('__unix', '0'))]; \
        run = lambda: r.solve([sys.argv[1]], specs, platforms=['linux-64', 'noarch'], virtual_packages=virtual); \
        main = lambda: asyncio.run(run()); \
        asyncio.run(r.install(main(), '/opt/conda/envs/spirals', show_progress=False))" "$CHANNEL" && \
    /opt/conda/envs/spirals/bin/pip install -q --no-cache-dir tqdm==4.66.5 && \
    /opt/conda/envs/spirals/bin/python -m compileall -q /opt/conda/envs/spirals/lib/python3.9 || true; \
    apt-get purge -y -q --auto-remove python3 python3-pip && \
    rm -rf /opt/installer /root/.cache /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /tmp/*
ENV PATH=/opt/conda/envs/spirals/bin:$PATH
RUN --mount=type=tmpfs,target=/tmp python -c "import torch, tqdm"
