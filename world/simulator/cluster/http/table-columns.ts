/** The columns of each kind, with kubectl's names. A data table over small cell functions. */
import {
  timestamp,
  type KubeObject,
  conditionOf,
  type BudgetObject,
  type ContainerSpec,
  type DaemonSetObject,
  type EventObject,
  type NodeObject,
  type ObjectSelector,
  type PodObject,
  type ReplicatedObject,
} from '../store/objects.ts';
import { valueAt } from '../schemas/json-path.ts';
import { isRecord } from '../store/patches.ts';
import type { PrinterColumn, ResourceType } from '../store/resource-types.ts';
import { defined } from '../../../../src/lib/defined.ts';

// One column of a printed table, and the format of ages.

export interface Column {
  readonly name: string;
  /** Shown with `-o wide` only. */
  readonly wide?: true;
  readonly cell: (object: KubeObject, nowMs: number) => string | number;
}

/** `12s`, `5m30s`, `47m`, `3h5m`, `26h`, `2d4h`, `90d`: kubectl's format. */
function ageOf(since: string | undefined, nowMs: number): string {
  if (since === undefined) return '<unknown>';
  const seconds = Math.max(0, Math.floor((Date.parse(timestamp(nowMs)) - Date.parse(since)) / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const rest = (amount: number, unit: string): string => (amount === 0 ? '' : `${amount}${unit}`);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (hours < 48) return `${hours}h`;
  if (days < 8) return `${days}d${rest(hours % 24, 'h')}`;
  return `${days}d`;
}

const NAME: Column = { name: 'Name', cell: (object) => object.metadata.name };
const AGE: Column = { name: 'Age', cell: (object, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs) };

const ROLE: Column = {
  name: 'Role',
  cell: (object) => {
    const role = isRecord(object['roleRef']) ? object['roleRef'] : {};
    return `${textOf(role['kind'])}/${textOf(role['name'])}`;
  },
};

/** A column with the value at a path, for kinds that are only stored. */
function at(name: string, path: string, wide?: true): Column {
  const parts = path.split('.');
  const cell = (object: KubeObject): string | number => {
    let value: unknown = object;
    for (const part of parts) value = isRecord(value) ? value[part] : undefined;
    return textOf(value);
  };
  return { name, cell, ...defined({ wide }) };
}

function textOf(value: unknown): string | number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.join(',');
  return '<none>';
}

type Cell<Kind> = (object: Kind, nowMs: number) => string | number | undefined;

/** A column of one kind. The cast is safe because all rows of a table are objects of that kind. */
function column<Kind extends KubeObject>(name: string, cell: Cell<Kind>, wide?: true): Column {
  return { name, cell: (object, nowMs) => cell(object as Kind, nowMs) ?? '<none>', ...defined({ wide }) };
}

function selectorText(selector: ObjectSelector | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return labels.length === 0 ? '<none>' : labels.join(',');
}

function containerColumns(containersOf: (object: KubeObject) => readonly ContainerSpec[]): readonly Column[] {
  return [
    {
      name: 'Containers',
      wide: true,
      cell: (object) =>
        containersOf(object)
          .map((container) => container.name)
          .join(','),
    },
    {
      name: 'Images',
      wide: true,
      cell: (object) =>
        containersOf(object)
          .map((container) => container.image ?? '')
          .join(','),
    },
  ];
}

const TEMPLATE_COLUMNS = [
  ...containerColumns((object) => (object as ReplicatedObject).spec.template.spec.containers),
  column<ReplicatedObject>('Selector', (object) => selectorText(object.spec.selector), true),
];

function podStatus(pod: PodObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating';
  const statuses = pod.status['containerStatuses'];
  const waiting = (Array.isArray(statuses) ? statuses : []).map((status: unknown) =>
    isRecord(status) && isRecord(status['state']) && isRecord(status['state']['waiting'])
      ? status['state']['waiting']['reason']
      : undefined,
  );
  const reason = waiting.find((text) => typeof text === 'string') ?? pod.status['reason'] ?? pod.status.phase;
  return typeof reason === 'string' ? reason : pod.status.phase;
}

function podReady(pod: PodObject): string {
  const ready = conditionOf(pod, 'Ready')?.status === 'True' ? pod.spec.containers.length : 0;
  return `${ready}/${pod.spec.containers.length}`;
}

function nodeStatus(node: NodeObject): string {
  const ready = conditionOf(node, 'Ready')?.status === 'True' ? 'Ready' : conditionOf(node, 'Ready') === undefined ? 'Unknown' : 'NotReady';
  return node.spec.unschedulable === true ? `${ready},SchedulingDisabled` : ready;
}

function nodeRoles(node: NodeObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(node.metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  const role = node.metadata.labels?.['kubernetes.io/role'];
  const all = [...roles.map((label) => label.slice(prefix.length)), ...(role === undefined ? [] : [role])];
  return all.length === 0 ? '<none>' : all.join(',');
}

function nodeAddress(node: NodeObject, type: string): string | undefined {
  const addresses = node.status['addresses'];
  const found = (Array.isArray(addresses) ? addresses : []).find((address: unknown) => isRecord(address) && address['type'] === type);
  return isRecord(found) ? String(found['address']) : undefined;
}

function nodeSystem(node: NodeObject, field: string): string | undefined {
  const system = node.status['nodeInfo'];
  return isRecord(system) ? String(system[field]) : undefined;
}

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  customresourcedefinitions: [NAME, at('Created At', 'metadata.creationTimestamp')],
  pods: [
    NAME,
    column<PodObject>('Ready', podReady),
    column<PodObject>('Status', podStatus),
    { name: 'Restarts', cell: () => '0' },
    AGE,
    at('IP', 'status.podIP', true),
    at('Node', 'spec.nodeName', true),
    at('Nominated Node', 'status.nominatedNodeName', true),
    { name: 'Readiness Gates', wide: true, cell: () => '<none>' },
  ],
  nodes: [
    NAME,
    column<NodeObject>('Status', nodeStatus),
    column<NodeObject>('Roles', nodeRoles),
    AGE,
    column<NodeObject>('Version', (node) => nodeSystem(node, 'kubeletVersion')),
    column<NodeObject>('Internal-IP', (node) => nodeAddress(node, 'InternalIP'), true),
    column<NodeObject>('External-IP', (node) => nodeAddress(node, 'ExternalIP'), true),
    column<NodeObject>('OS-Image', (node) => nodeSystem(node, 'osImage'), true),
    column<NodeObject>('Kernel-Version', (node) => nodeSystem(node, 'kernelVersion'), true),
    column<NodeObject>('Container-Runtime', (node) => nodeSystem(node, 'containerRuntimeVersion'), true),
  ],
  namespaces: [NAME, at('Status', 'status.phase'), AGE],
  events: [
    column<EventObject>('Last Seen', (event, nowMs) => ageOf(lastSeen(event), nowMs)),
    at('Type', 'type'),
    at('Reason', 'reason'),
    column<EventObject>('Object', (event) => `${(event.involvedObject.kind ?? '').toLowerCase()}/${event.involvedObject.name ?? ''}`),
    at('Source', 'source.component', true),
    at('Message', 'message'),
    at('Count', 'count', true),
    { ...NAME, wide: true },
  ],
  deployments: [
    NAME,
    column<ReplicatedObject>('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 1}`),
    column<ReplicatedObject>('Up-to-date', ({ status }) => Number(status?.['updatedReplicas'] ?? 0)),
    column<ReplicatedObject>('Available', ({ status }) => status?.availableReplicas ?? 0),
    AGE,
    ...TEMPLATE_COLUMNS,
  ],
  replicasets: [
    NAME,
    column<ReplicatedObject>('Desired', ({ spec }) => spec.replicas ?? 1),
    column<ReplicatedObject>('Current', ({ status }) => status?.replicas ?? 0),
    column<ReplicatedObject>('Ready', ({ status }) => status?.readyReplicas ?? 0),
    AGE,
    ...TEMPLATE_COLUMNS,
  ],
  statefulsets: [
    NAME,
    column<ReplicatedObject>('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 1}`),
    AGE,
    ...TEMPLATE_COLUMNS,
  ],
  daemonsets: [
    NAME,
    column<DaemonSetObject>('Desired', ({ status }) => Number(status?.['desiredNumberScheduled'] ?? 0)),
    column<DaemonSetObject>('Current', ({ status }) => Number(status?.['currentNumberScheduled'] ?? 0)),
    column<DaemonSetObject>('Ready', ({ status }) => Number(status?.['numberReady'] ?? 0)),
    column<DaemonSetObject>('Up-to-date', ({ status }) => Number(status?.['updatedNumberScheduled'] ?? 0)),
    column<DaemonSetObject>('Available', ({ status }) => Number(status?.['numberAvailable'] ?? 0)),
    column<DaemonSetObject>('Node Selector', ({ spec }) => selectorText({ matchLabels: spec.template.spec.nodeSelector ?? {} })),
    AGE,
    ...TEMPLATE_COLUMNS,
  ],
  poddisruptionbudgets: [
    NAME,
    column<BudgetObject>('Min Available', ({ spec }) => spec.minAvailable ?? 'N/A'),
    column<BudgetObject>('Max Unavailable', ({ spec }) => spec.maxUnavailable ?? 'N/A'),
    column<BudgetObject>('Allowed Disruptions', ({ status }) => status?.disruptionsAllowed ?? 0),
    AGE,
  ],
  services: [
    NAME,
    at('Type', 'spec.type'),
    at('Cluster-IP', 'spec.clusterIP'),
    { name: 'External-IP', cell: () => '<none>' },
    column('Port(s)', (service) => servicePorts(service)),
    AGE,
  ],
  leases: [NAME, at('Holder', 'spec.holderIdentity'), AGE],
  configmaps: [NAME, column('Data', (object) => (isRecord(object['data']) ? Object.keys(object['data']).length : 0)), AGE],
  secrets: [NAME, at('Type', 'type'), column('Data', (object) => (isRecord(object['data']) ? Object.keys(object['data']).length : 0)), AGE],
  jobs: [NAME, at('Completions', 'spec.completions'), AGE],
  storageclasses: [
    NAME,
    at('Provisioner', 'provisioner'),
    at('ReclaimPolicy', 'reclaimPolicy'),
    at('VolumeBindingMode', 'volumeBindingMode'),
    AGE,
  ],
  persistentvolumes: [
    NAME,
    at('Capacity', 'spec.capacity.storage'),
    at('Access Modes', 'spec.accessModes'),
    at('Status', 'status.phase'),
    AGE,
  ],
  persistentvolumeclaims: [
    NAME,
    at('Status', 'status.phase'),
    at('Volume', 'spec.volumeName'),
    at('StorageClass', 'spec.storageClassName'),
    AGE,
  ],
  roles: [NAME, at('Created At', 'metadata.creationTimestamp')],
  clusterroles: [NAME, at('Created At', 'metadata.creationTimestamp')],
  rolebindings: [NAME, ROLE, AGE],
  clusterrolebindings: [NAME, ROLE, AGE],
  networkpolicies: [
    NAME,
    column('Pod-Selector', ({ spec }) => selectorText((isRecord(spec) ? spec['podSelector'] : undefined) as ObjectSelector | undefined)),
    AGE,
  ],
  priorityclasses: [NAME, at('Value', 'value'), at('Global-Default', 'globalDefault'), AGE],
};

function lastSeen(event: EventObject): string | undefined {
  const { lastTimestamp, eventTime } = event;
  if (typeof lastTimestamp === 'string') return lastTimestamp;
  return typeof eventTime === 'string' ? eventTime : event.metadata.creationTimestamp;
}

function servicePorts(service: KubeObject): string {
  const ports = isRecord(service.spec) && Array.isArray(service.spec['ports']) ? service.spec['ports'].filter(isRecord) : [];
  return ports.length === 0 ? '<none>' : ports.map((port) => `${textOf(port['port'])}/${textOf(port['protocol'] ?? 'TCP')}`).join(',');
}

/** A kind without columns of its own shows a name and an age. */
export function columnsOf({ storage, custom }: ResourceType): readonly Column[] {
  return custom === undefined ? (COLUMNS[storage] ?? [NAME, AGE]) : [NAME, ...custom.columns.map(customColumn)];
}

function customColumn({ name, type, jsonPath, priority = 0 }: PrinterColumn): Column {
  const cell = (object: KubeObject, nowMs: number): string | number => {
    const value = valueAt(object, jsonPath);
    if (type === 'date') return ageOf(typeof value === 'string' ? value : undefined, nowMs);
    return typeof value === 'number' ? value : isRecord(value) || Array.isArray(value) ? JSON.stringify(value) : textOf(value);
  };
  return priority > 0 ? { name, wide: true, cell } : { name, cell };
}
