# The server with the web UI, from this checkout. compose.yaml has one server, or two on PostgreSQL.
FROM node:24.21.0-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund && npm pack --pack-destination /build

FROM node:24.21.0-slim
COPY --from=build /build/palimpsest-*.tgz /opt/palimpsest.tgz
RUN npm install --global --no-audit --no-fund /opt/palimpsest.tgz && mkdir /data && chown 1000 /data
USER 1000
ENV PALIMPSEST_HOME=/data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --start-period=20s CMD ["node", "-e", "fetch('http://127.0.0.1:8787/healthz').then(({ ok }) => process.exit(ok ? 0 : 1))"]
CMD ["palimpsest", "serve", "--host", "0.0.0.0", "--port", "8787"]
