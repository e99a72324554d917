# A bundle on a distroless Node: no shell, no package manager, no node_modules.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY src ./src
RUN npm run bundle

FROM gcr.io/distroless/nodejs24-debian12:nonroot
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="aks-autoscaler" \
      org.opencontainers.image.description="A node autoscaler for Kubernetes on Azure" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
# One arena: several threads' worth of freed memory would stay with the process.
ENV MALLOC_ARENA_MAX=1
COPY LICENSE /LICENSE
COPY --from=build /build/dist /app
USER 65532:65532
EXPOSE 8085
ENTRYPOINT ["/nodejs/bin/node", "/app/main.mjs"]
CMD ["run"]
