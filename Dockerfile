# Hone in a container: docs/containers.md. The accelerated provider and PyTorch for NVIDIA GPUs: --build-arg NVIDIA=1.
ARG BASE=docker.io/library/node:24-trixie-slim
ARG NVIDIA=0

FROM ${BASE} AS base
# libgomp1: the kernels' and llama.cpp's threads. tini ends with the service and reaps what its children leave behind.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates libgomp1 python3 python3-venv tini \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json ./
COPY setup setup

# What changes least and is largest; the image is built on it. Without setup.mjs, which changes with every command.
FROM base AS python
ARG NVIDIA
ENV HONE_NVIDIA=${NVIDIA}
COPY trainer/requirements.txt trainer/requirements-accelerated.txt trainer/
RUN node -e "import('./setup/set-up.mjs').then(({ setUp }) => setUp('setup', ['python', 'accelerated'])).then((done) => process.exit(done ? 0 : 1))" \
  && rm -rf "$HOME/.cache"

FROM base AS tools
RUN apt-get update \
  && apt-get install -y --no-install-recommends cmake g++ git make \
  && rm -rf /var/lib/apt/lists/*
COPY package-lock.json setup.mjs ./

FROM tools AS packages
RUN node setup.mjs setup packages uws converter
COPY CMakeLists.txt ./
COPY native native
RUN node setup.mjs setup addon && test -f build/native/Release/hone.node

# The engine's builds for other processors and GPUs are most of the packages' size.
FROM packages AS engine
ARG NVIDIA
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && cd node_modules/@node-llama-cpp \
  && native="linux-$(node -p process.arch)" \
  && for build in *; do \
       case "$NVIDIA $build" in "0 $native" | "1 $native"*) ;; *) rm -rf "$build" ;; esac; \
     done

FROM packages AS bundles
COPY tsconfig.json ./
COPY src src
COPY ui ui
RUN node setup.mjs setup bundles

FROM python
RUN useradd --uid 10001 --shell /usr/sbin/nologin --home-dir /data --create-home hone \
  && ln -s /app/setup.mjs /usr/local/bin/hone
ENV HONE_IMAGE=1 SERVICE_DATA_DIR=/data
COPY --from=engine /app/node_modules node_modules
COPY --from=packages /app/build build
COPY LICENSE setup.mjs ./
COPY examples examples
COPY src/db/migrations src/db/migrations
COPY src/db/traffic src/db/traffic
COPY --from=bundles /app/dist dist
COPY trainer trainer
# Its user cannot keep what Python compiles.
RUN trainer/.venv/bin/python -m compileall -q -x '[.]venv' trainer
USER hone
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8000/api/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "hone"]
CMD ["serve"]
