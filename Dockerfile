# A bundle on a distroless Node: no shell, no package manager, no node_modules.
# Both base images are build arguments, so that the image can be built without a registry (`npm run image`).
ARG BUILD_IMAGE=node:24-bookworm-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM --platform=$BUILDPLATFORM $BUILD_IMAGE AS build
WORKDIR /build
COPY package.json package-lock.json ./
# A registry that stops to answer holds npm for ever. What came stays in npm's cache for the next try.
RUN for try in 1 2 3; do timeout 240 npm ci --ignore-scripts && exit 0; done; exit 1
COPY tsconfig.json ./
COPY src ./src
COPY world ./world
COPY deploy/image ./deploy/image
RUN npm run bundle && npm run sbom && npm run licences \
 && mkdir licenses && mv dist/sbom.cdx.json dist/third-party-licences.txt licenses/

# The simulated cluster, for tests of other programs: `--target world`. Run it in the network of the host, since its certificates name localhost.
FROM build AS package
COPY LICENSE ./
COPY deploy/package ./deploy/package
RUN npm run package

FROM $RUNTIME_IMAGE AS world
LABEL org.opencontainers.image.title="aks-autoscaler-world" \
      org.opencontainers.image.description="A simulated AKS cluster: Azure Resource Manager and the Kubernetes API" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY LICENSE /licenses/LICENSE
COPY --from=package /build/licenses /licenses
COPY --from=package /build/dist/npm/package /world
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "/world/aks-autoscaler.mjs", "emulate"]
CMD ["--dir", "/tmp/world"]

FROM $RUNTIME_IMAGE
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="aks-autoscaler" \
      org.opencontainers.image.description="A node autoscaler for Kubernetes on Azure" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
# One arena: several threads' worth of freed memory would stay with the process.
ENV MALLOC_ARENA_MAX=1
# Megabytes, for new objects; three times as much are reserved. With 4 GB or more, Node.js would take 64, and keep them long after the first
# read of a large cluster. Within the chart's limit of memory it takes 16 by itself.
ENV NODE_OPTIONS=--max-semi-space-size=16
COPY LICENSE /licenses/LICENSE
COPY --from=build /build/licenses /licenses
COPY --from=build /build/dist /app
# Deployments of the Cluster Autoscaler start ./cluster-autoscaler.
COPY deploy/image/cluster-autoscaler /cluster-autoscaler
WORKDIR /
USER 65532:65532
EXPOSE 8085 8086
ENTRYPOINT ["/nodejs/bin/node", "/app/main.mjs"]
CMD ["run"]
