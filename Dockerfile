# Atoll with what its namespace runtime needs. See docker-compose.yml for the privileges it must be given.
FROM node:24-bookworm-slim

RUN apt-get update \
 && apt-get install --yes --no-install-recommends bubblewrap e2fsprogs iproute2 mount slirp4netns util-linux \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/atoll

# Changes seldom: kept as a layer of its own.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev --no-audit --no-fund && npm cache clean --force

COPY machines machines
COPY docs/machines docs/machines
COPY schemas schemas
COPY src src

ENV NODE_ENV=production \
    ATOLL_HOST=0.0.0.0 \
    ATOLL_DATA_DIR=/var/lib/atoll

VOLUME /var/lib/atoll
EXPOSE 8080
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "require(process.env.ATOLL_TLS_CERT_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.ATOLL_PORT || 8080, path: '/healthz', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]

# Root: each Sandbox gets a user of its own, which only root can give it.
CMD ["node", "src/main.ts"]
