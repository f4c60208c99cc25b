# Atoll with what its namespace runtime needs. See docker-compose.yml for the privileges it must be given.
FROM node:24-bookworm-slim

# First what Atoll needs; then what people expect inside a Sandbox, which has this image's /usr: the programs of a virtual machine.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      bubblewrap buildah e2fsprogs iproute2 mount nftables slirp4netns squashfs-tools util-linux xfsprogs \
      bash bzip2 ca-certificates curl diffutils file findutils g++ gcc git jq less libc6-dev make nano netcat-openbsd \
      openssh-client openssh-sftp-server patch procps python3 python3-pip python3-venv rsync sqlite3 tmux unzip vim-tiny \
      wget xz-utils zip \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/atoll

# Changes seldom: kept as a layer of its own.
COPY package.json package-lock.json .npmrc ./
# The image has a Node of its own.
RUN npm ci --ignore-scripts --omit=dev --no-audit --no-fund \
 && npm cache clean --force \
 && rm -rf node_modules/node-linux-*

COPY machines machines
COPY docs/machines docs/machines
COPY schemas schemas
COPY src src
COPY deploy/container/start.sh start.sh

ENV NODE_ENV=production \
    ATOLL_HOST=0.0.0.0 \
    ATOLL_DATA_DIR=/var/lib/atoll \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=262144 \
    MALLOC_TRIM_THRESHOLD_=4194304

VOLUME /var/lib/atoll
EXPOSE 8080
STOPSIGNAL SIGTERM

# A machine that starts a whole fleet at once is busy for longer than a container alone.
HEALTHCHECK --interval=10s --timeout=10s --start-period=2m \
  CMD ["node", "-e", "require(process.env.ATOLL_TLS_CERT_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.ATOLL_PORT || 8080, path: '/healthz', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]

# Root: each Sandbox gets a user of its own, which only root can give it.
ENTRYPOINT ["sh", "/opt/atoll/start.sh"]
CMD ["node", "src/main.mjs"]
