/** Objects of `resource.k8s.io/v1` as kubectl writes them. */
type Json = Readonly<Record<string, unknown>>;

export const GPU_DRIVER = 'gpu.example.com';
const GPU_CLASS = 'gpu.example.com';

/** Whole GPUs of one model, as its driver publishes them for a node. */
export function gpuSlice(
  node: string,
  gpus: number,
  part: { readonly spec?: Json; readonly model?: string; readonly name?: string } = {},
): Json {
  const device = (at: number): Json => ({
    name: `gpu-${at}`,
    attributes: { model: { string: part.model ?? 'A100' }, index: { int: at }, uuid: { string: `GPU-${node}-${at}` } },
    capacity: { memory: { value: '80Gi' } },
  });
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: part.name ?? `${node}-gpus` },
    spec: {
      driver: GPU_DRIVER,
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
      nodeName: node,
      devices: Array.from({ length: gpus }, (_, at) => device(at)),
      ...part.spec,
    },
  };
}

export function deviceClass(expression = `device.driver == "${GPU_DRIVER}"`, name = GPU_CLASS): Json {
  return { apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name }, spec: { selectors: [{ cel: { expression } }] } };
}

/** A request for so many GPUs. */
export function gpus(count: number | 'all', part: Json = {}): Json {
  const many = count === 'all' ? { allocationMode: 'All' } : { allocationMode: 'ExactCount', count };
  return { name: 'gpus', exactly: { deviceClassName: GPU_CLASS, ...many, ...part } };
}

export function claimTemplate(name: string, requests: readonly Json[], devices: Json = {}): Json {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaimTemplate',
    metadata: { name, namespace: 'default' },
    spec: { spec: { devices: { requests, ...devices } } },
  };
}

export interface ClaimOptions {
  readonly requests?: readonly Json[];
  /** Devices that it has got, on a node. */
  readonly on?: string;
  readonly devices?: readonly string[];
  /** Uid of the pod that it was made for. */
  readonly owner?: string;
  readonly reservedFor?: readonly string[];
  readonly admin?: boolean;
  /** What it has of each device's capacities. If absent, it has them whole. */
  readonly part?: Json;
}

export function resourceClaim(name: string, options: ClaimOptions = {}): Json {
  const { requests = [gpus(1)], on, devices = [], owner, reservedFor = [], admin, part } = options;
  const here = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [on] }] }] };
  const results = devices.map((device) => ({
    request: 'gpus',
    driver: GPU_DRIVER,
    pool: on,
    device,
    ...(admin === true ? { adminAccess: true } : {}),
    ...(part === undefined ? {} : { shareID: `share-of-${name}`, consumedCapacity: part }),
  }));
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: {
      name,
      namespace: 'default',
      ...(owner === undefined ? {} : { ownerReferences: [{ kind: 'Pod', name: 'owner', uid: owner, controller: true }] }),
    },
    spec: { devices: { requests } },
    status:
      on === undefined
        ? {}
        : { allocation: { devices: { results }, nodeSelector: here }, reservedFor: reservedFor.map((uid) => ({ resource: 'pods', uid })) },
  };
}

/** The part of a pod's spec that asks for a claim of its own. */
export function ownClaim(template: string): Json {
  return { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: template }] };
}

/** The part of a pod's spec that names a claim that others may use, too. */
export function sharedClaim(claim: string): Json {
  return { resourceClaims: [{ name: 'gpu', resourceClaimName: claim }] };
}
