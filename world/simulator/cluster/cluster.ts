/**
 * The Kubernetes side of the simulated world: an API server over HTTPS, its controllers, and a kubelet per VM. VMs are known only
 * through the VM feed. Must not know ARM, nor the autoscaler: it is the oracle for tests of the autoscaler.
 */
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { kubeconfig } from '../base/kubeconfig.ts';
import { ALLOW_ALL, type RequestFilter } from '../base/request-filter.ts';
import type { DiskDriver } from '../base/disk-driver.ts';
import type { SimClock } from '../base/sim-clock.ts';
import type { ServerTls } from '../base/tls.ts';
import type { VmFeed } from '../base/vm-feed.ts';
import type { WorldSpec } from '../base/world-spec.ts';
import { isForeignByName, type ViolationLog } from '../base/write-safety.ts';
import { recordEvent, type ControllerContext, type EventDraft } from './base/controller-context.ts';
import { createPlainDisks } from './base/plain-disks.ts';
import { DEFAULT_LATENCIES, type ClusterLatencies } from './base/latencies.ts';
import { startCustomDefinitions } from './controllers/custom-definitions.ts';
import { startDaemonSets } from './controllers/daemon-sets.ts';
import { startDeployments } from './controllers/deployments.ts';
import { startGarbageCollector } from './controllers/garbage-collector.ts';
import { startKubeletPods } from './controllers/kubelet-pods.ts';
import { startKubeletResizes } from './controllers/kubelet-resizes.ts';
import { startKubelets, type Kubelets } from './controllers/kubelets.ts';
import { followMachine, startNodeLifecycle } from './controllers/node-lifecycle.ts';
import { quarantine, reportCondition, type ReportedCondition } from './controllers/node-problems.ts';
import { startDisruptionBudgets } from './controllers/pod-disruption-budgets.ts';
import { startReplicaSets } from './controllers/replica-sets.ts';
import { startVolumeAttachments } from './controllers/volume-attachments.ts';
import { startVolumeController } from './controllers/volume-controller.ts';
import { ApiServer, type JournalEntry } from './http/server.ts';
import { startScheduler } from './scheduler/scheduler.ts';
import { seedCluster } from './seed.ts';
import { withInjected } from './store/admission.ts';
import { createApi, placeOf, type Api } from './store/api.ts';
import { typedBody } from './store/field-types.ts';
import { evict } from './store/eviction.ts';
import type { EventObject, KubeObject, NodeObject, ObjectDraft, PodObject, Quantities } from './store/objects.ts';
import { storedType, type ResourceType } from './store/resource-types.ts';
import { admitDefined } from './schemas/definitions.ts';
import { KindTable } from './schemas/kind-table.ts';
import { withTarget } from './schemas/vertical-pod-autoscalers.ts';
import { ObjectStore, type StoreChange } from './store/store.ts';
import { createTimers } from './store/timers.ts';
import { defined } from '../../../src/lib/defined.ts';

// Starts all controllers and the scheduler.

/** Creates nodes for the VMs that already run; other objects must come later. Returns a function that stops everything. */
function startControllers(context: ControllerContext): () => void {
  const stops = [
    startReplicaSets(context),
    startDeployments(context),
    startDaemonSets(context),
    startDisruptionBudgets(context),
    startCustomDefinitions(context),
    startGarbageCollector(context),
    startVolumeController(context),
    startVolumeAttachments(context),
    startScheduler(context),
    startNodeLifecycle(context),
  ];
  const kubelets: Kubelets = startKubelets(context, (change) => followMachine(context, () => kubelets, change));
  stops.push(startKubeletPods(context, kubelets), startKubeletResizes(context, kubelets), () => kubelets.stop());
  return () => {
    for (const stop of stops) stop();
  };
}

export interface ClusterOptions {
  readonly spec: WorldSpec;
  readonly clock: SimClock;
  readonly tls: ServerTls;
  readonly machines: VmFeed;
  /** Default: disks that exist by name alone. */
  readonly disks?: DiskDriver;
  readonly violations: ViolationLog;
  /** The bearer token of every request. */
  readonly token: string;
  /** Default: any free port. */
  readonly port?: number;
  readonly knobs?: Partial<ClusterLatencies>;
  /** Writers that the write-safety rules do not check. Default: those named `foreign...`, and AKS itself. */
  readonly isForeign?: (principal: string) => boolean;
  /** Default: every request passes. */
  readonly requestFilter?: RequestFilter;
}

/** The state for assertions. Every call returns the current state; objects are never changed in place. */
interface ClusterState {
  pods(): readonly PodObject[];
  nodes(): readonly NodeObject[];
  events(): readonly EventObject[];
  /** Pods with a node that are neither finished nor terminating. */
  boundPods(): readonly PodObject[];
  /** Pods without a node that are not terminating. */
  pendingPods(): readonly PodObject[];
  /** Every object of a plural, such as `deployments`, in order of namespace and name. */
  list(plural: string): readonly KubeObject[];
  get(plural: string, namespace: string | undefined, name: string): KubeObject | undefined;
}

interface ClusterControl {
  /** Closes every open watch. */
  dropWatches(): void;
  /** Drops history: older versions and open page tokens get a 410. */
  compact(): void;
  /** The next `count` matching requests get `status` as their response. */
  failNext(count: number, status: number, only?: { readonly verb?: string; readonly resource?: string }): void;
  /** A pod (`namespace/name`) has no network of its own: its port leads to a port of this machine. */
  listenInPod(pod: string, port: number, localPort: number): void;
  /** What the node problem detector of a node reports. */
  reportCondition(node: string, reported: ReportedCondition): void;
  /** AKS leaves the node aside at an upgrade, since it could not drain it. */
  quarantine(node: string): void;
  /** Makes the API server unreachable: it closes present and new connections. */
  pause(): void;
  resume(): void;
}

export interface SimCluster {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** JSON, which is also YAML, with the CA and the token inline. */
  kubeconfig(): string;
  readonly store: ClusterState;
  /**
   * Creates the object, or replaces the one with that name.
   * @throws AutoscalerError of kind `kube-api` when the server refuses it.
   */
  apply(object: ObjectDraft): KubeObject;
  /**
   * Deletes an object with the default options of a client.
   * @throws AutoscalerError of kind `kube-api` when the server refuses it.
   */
  remove(object: ObjectDraft): void;
  /** Evicts a pod as another client would. @returns why not, or undefined. */
  evict(pod: PodObject): string | undefined;
  /**
   * Writes the status of an object, as its controller would.
   * @throws AutoscalerError of kind `kube-api` when the server refuses it.
   */
  writeStatus(object: KubeObject, status: unknown): void;
  /**
   * Changes what the first container of a running pod requests, through the resize subresource.
   * @throws AutoscalerError of kind `kube-api` when the server refuses it.
   */
  resize(pod: PodObject, requests: Quantities): void;
  /** Records an event about an object, as another component would. */
  recordEvent(about: KubeObject, draft: EventDraft): void;
  readonly control: ClusterControl;
  /** The last requests. */
  journal(): readonly JournalEntry[];
  /** Calls back for each request, which the journal keeps for a while only. Returns a function that unsubscribes. */
  onRequest(listener: (entry: JournalEntry) => void): () => void;
  /** Calls back after each change of an object. Returns a function that unsubscribes. */
  onChange(listener: (change: StoreChange) => void): () => void;
  resourceVersion(): number;
  /** Requests without a response yet, without watches. */
  pendingRequests(): number;
  /** Bytes sent so far to the client at this port; undefined: there is no such connection. */
  bytesSentTo(clientPort: number): number | undefined;
  /** Grows with each write to a client and with each connection that begins or ends. */
  activity(): number;
  /** Open watches. */
  openWatches(): number;
  stop(): Promise<void>;
}

/**
 * Starts the cluster with the objects that AKS creates, and nodes for the VMs that already run.
 * @throws AutoscalerError of kind `unavailable` when the port is taken.
 */
export async function startCluster(options: ClusterOptions): Promise<SimCluster> {
  const knobs: ClusterLatencies = { ...DEFAULT_LATENCIES, ...options.knobs };
  const timers = createTimers(options.clock);
  const api = createApi(new ObjectStore(knobs.eventLogLimit), timers, options.spec.seed, {
    podWebhooks: [withTarget, (draft) => withInjected(draft, options.spec.injectedContainers ?? [])],
  });
  const kinds = new KindTable(api.store);
  const server = new ApiServer({
    api,
    kinds,
    tls: options.tls,
    token: options.token,
    port: options.port ?? 0,
    watchKnobs: knobs,
    forbidden: new Set(options.spec.forbidden),
    requestFilter: options.requestFilter ?? ALLOW_ALL,
  });
  await server.listen();
  const stopControllers = startControllers({
    api,
    knobs,
    spec: options.spec,
    machines: options.machines,
    disks: options.disks ?? createPlainDisks(timers, knobs),
    violations: options.violations,
    isForeign: options.isForeign ?? isForeignByName,
  });
  seedCluster(api, options.spec);
  startCompaction(api, knobs.compactionMs);
  const url = `https://127.0.0.1:${server.port}`;
  return {
    url,
    kubeconfig: () => kubeconfig({ name: options.spec.clusterName, server: url, caPem: options.tls.caPem, token: options.token }),
    store: stateOf(api),
    apply: (object) => apply(api, kinds, object),
    remove: (object) => {
      const type = typeOf(kinds, object);
      unwrap(
        api.remove(
          type,
          placeOf({ ...object, metadata: { ...object.metadata, ...placeOfDraft(object, type.namespaced) } } as KubeObject),
          {},
        ),
      );
    },
    evict: (pod) => {
      const { name, namespace = 'default', uid } = pod.metadata;
      const done = evict(api, { name, namespace }, { uid });
      return done.ok ? undefined : done.refusal.message;
    },
    writeStatus: (object, status) => {
      unwrap(api.modify(typeOf(kinds, object), placeOf(object), 'status', (current) => ({ ...current, status })));
    },
    resize: (pod, requests) => {
      unwrap(api.modify(storedType('pods'), placeOf(pod), 'resize', (current) => withRequests(current as PodObject, requests)));
    },
    recordEvent: (about, draft) => recordEvent(api, about, draft),
    control: controlOf(api, server),
    journal: () => server.journal,
    onRequest: (listener) => server.subscribe(listener),
    onChange: (listener) => api.store.subscribe(listener),
    resourceVersion: () => api.store.version,
    pendingRequests: () => server.pending,
    bytesSentTo: (clientPort) => server.bytesSentTo(clientPort),
    activity: () => server.activity,
    openWatches: () => server.watches.count,
    stop: async () => {
      stopControllers();
      timers.stop();
      await server.stop();
    },
  };
}

function withRequests(pod: PodObject, requests: Quantities): PodObject {
  const containers = pod.spec.containers.map((container, index) =>
    index > 0
      ? container
      : { ...container, resources: { ...container.resources, requests: { ...container.resources?.requests, ...requests } } },
  );
  return { ...pod, spec: { ...pod.spec, containers } };
}

/** Each time, versions from before the previous time expire. */
function startCompaction({ store, timers }: Api, everyMs: number): void {
  const compactLater = (upTo: number): void => {
    timers.after(everyMs, () => {
      store.compact(upTo);
      compactLater(store.version);
    });
  };
  compactLater(store.version);
}

function stateOf(api: Api): ClusterState {
  const { store } = api;
  const pods = (): readonly PodObject[] => store.list('pods').map((object) => object as PodObject);
  const isOver = (pod: PodObject): boolean => pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
  const isGoing = (pod: PodObject): boolean => pod.metadata.deletionTimestamp !== undefined;
  return {
    pods,
    nodes: () => store.list('nodes').map((object) => object as NodeObject),
    events: () => store.list('events').map((object) => object as EventObject),
    boundPods: () => pods().filter((pod) => pod.spec.nodeName !== undefined && !isOver(pod) && !isGoing(pod)),
    pendingPods: () => pods().filter((pod) => pod.spec.nodeName === undefined && !isOver(pod) && !isGoing(pod)),
    list: (plural) => store.list(plural),
    get: (plural, namespace, name) => store.get(plural, `${namespace ?? ''}/${name}`),
  };
}

function controlOf(api: Api, server: ApiServer): ClusterControl {
  return {
    dropWatches: () => server.watches.dropAll(),
    compact: () => {
      api.store.compact();
      server.lists.expireAll();
    },
    failNext: (count, status, only = {}) => {
      server.addFault({
        remaining: count,
        status,
        matches: ({ verb, resource }) => (only.verb ?? verb) === verb && (only.resource ?? resource) === resource,
      });
    },
    listenInPod: (pod, port, localPort) => server.listenInPod(pod, port, localPort),
    reportCondition: (node, reported) => void reportCondition(api, node, reported),
    quarantine: (node) => quarantine(api, node),
    pause: () => server.setReachable(false),
    resume: () => server.setReachable(true),
  };
}

function typeOf(kinds: KindTable, object: ObjectDraft): ResourceType {
  const type = kinds.findKind(object.apiVersion, object.kind);
  if (type !== undefined) return type;
  throw new AutoscalerError({ kind: 'kube-api', status: 404 }, `The simulated cluster has no kind ${object.kind} in ${object.apiVersion}.`);
}

function placeOfDraft(object: ObjectDraft, namespaced: boolean): { readonly namespace?: string; readonly name: string } {
  const name = object.metadata.name ?? '';
  return namespaced ? { name, namespace: object.metadata.namespace ?? 'default' } : { name };
}

function unwrap<Value>(
  result:
    | { readonly ok: true; readonly value: Value }
    | { readonly ok: false; readonly refusal: { readonly code: number; readonly message?: string } },
): Value {
  if (result.ok) return result.value;
  throw new AutoscalerError(
    { kind: 'kube-api', status: result.refusal.code },
    result.refusal.message ?? 'The simulated API server refused the request.',
  );
}

function apply(api: Api, kinds: KindTable, given: ObjectDraft): KubeObject {
  const type = typeOf(kinds, given);
  const old = kinds.stored(type, placeOfDraft(given, type.namespaced));
  const object = unwrap(admitDefined(kinds, type, unwrap(typedBody(type, given)) as ObjectDraft, old));
  const { namespace, name } = placeOfDraft(object, type.namespaced);
  const present = name === '' ? undefined : api.store.get(type.storage, `${namespace ?? ''}/${name}`);
  if (present === undefined) return unwrap(api.create(type, object, namespace));
  const { resourceVersion, uid } = present.metadata;
  return unwrap(
    api.update(
      type,
      {
        ...object,
        metadata: {
          ...object.metadata,
          name,
          resourceVersion,
          uid,
          creationTimestamp: '',
          ...defined({ namespace }),
        },
      },
      'main',
    ),
  );
}
