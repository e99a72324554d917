/**
 * Writes a decision as text and reads it back: observation, state and policy by value, each pod shape once. Resource vectors
 * are stored by resource name, since indexes differ between processes. Reading is exact: the planner sees the same input.
 * Must not know where dumps are stored.
 */
import { AutoscalerError } from '../../lib/errors.ts';
import type { InstanceKey, NodeName } from '../../domain/ids.ts';
import type { LoopState } from '../../domain/loop-state.ts';
import { blockTexts, recordedBlocks, type BlockTexts } from '../../domain/group-blocks.ts';
import { type CapacityObjects, NO_CAPACITY_OBJECTS } from '../../domain/capacity-objects.ts';
import { type Node, UNREMARKABLE } from '../../domain/node.ts';
import { type NodeGroup, NOTHING_KNOWN } from '../../domain/node-group.ts';
import { type NodeTemplate, NOTHING_SHOWN } from '../../domain/node-template.ts';
import { type CloudView, type ClusterView, NOT_WATCHED, NOTHING_REPORTED, type Observation } from '../../domain/observation.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { ScaleDownPlan, ScaleUpPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import { storedPod, storedShape, totalPod, totalShape, type StoredPod, type StoredShape } from './stored-pod.ts';
import { NO_SCHEDULES } from '../../domain/schedule-rules.ts';
import { wholePolicy, type StoredPolicy } from './stored-policy.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { type LoopRecord, NOTHING_DECIDED } from '../../domain/ports/records.ts';
import { withoutDefaults } from '../../lib/json.ts';
import { storedForm, withDefaults, type StoredState } from '../../planning/state/stored-state.ts';

const DUMP_VERSION = 1;

/** A plan in a form that can be compared: pods by name and uid, maps in order. */
export type PlainPlan = unknown;

export interface Dump extends Pick<LoopRecord, keyof typeof NOTHING_DECIDED> {
  readonly observation: Observation;
  readonly state: LoopState;
  readonly policy: Policy;
  readonly scaleUp: readonly PlainPlan[];
  readonly scaleDown: PlainPlan;
}

export function dumpRecord(record: LoopRecord, names: ResourceNames): string {
  const shapes = new Map<PodShape, number>();
  const encode = (value: unknown): unknown => encodeValue(value, names, shapes);
  const body = {
    version: DUMP_VERSION,
    observation: encode(storedObservation(record.observation)),
    state: encode(storedForm(record.stateBefore, record.observation.nowMs)),
    policy: record.policy,
    excluded: record.excluded,
    scaleUpPlanned: record.scaleUpPlanned,
    fullGroups: encode(record.fullGroups),
    cancellable: [...record.cancellable],
    request: record.request,
    scaleUp: record.scaleUp.map(plainPlan),
    scaleDown: record.scaleDown === undefined ? null : plainPlan(record.scaleDown),
  };
  const table = [...shapes.keys()].map((shape) => encodeFields(storedShape(shape), names, undefined));
  return JSON.stringify({ ...body, shapes: table });
}

/** @throws AutoscalerError `config` when the text is not a dump of this version. */
export function readDump(text: string, names: ResourceNames): Dump {
  const body = parse(text);
  const shapes = (body['shapes'] as readonly unknown[]).map((shape) => totalShape(decodeValue(shape, names, []) as StoredShape));
  const decode = (value: unknown): unknown => decodeValue(value, names, shapes);
  const observation = totalObservation(decode(body['observation']) as StoredObservation);
  return {
    observation,
    state: withDefaults(decode(body['state']) as StoredState, observation.nowMs),
    policy: wholePolicy(body['policy'] as StoredPolicy),
    excluded: body['excluded'] as LoopRecord['excluded'],
    request: body['request'] as LoopRecord['request'],
    scaleUpPlanned: body['scaleUpPlanned'] === 'unknown' ? 'unknown' : body['scaleUpPlanned'] === true,
    fullGroups: (decode(body['fullGroups']) ?? NOTHING_DECIDED.fullGroups) as LoopRecord['fullGroups'],
    cancellable: new Set(body['cancellable'] as readonly InstanceKey[] | undefined),
    scaleUp: body['scaleUp'] as readonly PlainPlan[],
    scaleDown: body['scaleDown'],
  };
}

/** A dump leaves out what is as usual; it has the sentences of a group's blocks. Earlier versions left out the same. */
type Stored<Value, Defaults> = Omit<Value, keyof Defaults> & Partial<Value>;
type StoredTemplate = Stored<NodeTemplate, typeof NOTHING_SHOWN>;
type StoredGroup = Stored<Omit<NodeGroup, 'blocks' | 'template'>, typeof NOTHING_KNOWN> &
  BlockTexts & { readonly template?: StoredTemplate | undefined };
type StoredObservation = Omit<Observation, 'cloud' | 'cluster'> & {
  readonly cluster: Stored<Omit<ClusterView, 'nodes' | 'capacity' | 'podsByNode' | 'pendingPods'>, typeof NOT_WATCHED> & {
    readonly podsByNode: ReadonlyMap<NodeName, readonly StoredPod[]>;
    readonly pendingPods: readonly StoredPod[];
    readonly nodes: ReadonlyMap<NodeName, Stored<Node, typeof UNREMARKABLE>>;
    readonly capacity?: Partial<CapacityObjects>;
  };
  readonly cloud: Stored<Omit<CloudView, 'groups'>, typeof NOTHING_REPORTED> & { readonly groups: readonly StoredGroup[] };
};

function storedObservation(observation: Observation): StoredObservation {
  const { cloud, cluster } = observation;
  const groups = cloud.groups.map(({ blocks, template, ...group }) => ({
    ...withoutDefaults(group, NOTHING_KNOWN),
    ...blockTexts(blocks),
    template: template && withoutDefaults(template, NOTHING_SHOWN),
  }));
  const nodes = new Map([...cluster.nodes].map(([name, node]) => [name, withoutDefaults(node, UNREMARKABLE)]));
  const { capacity, ...seen } = withoutDefaults(cluster, NOT_WATCHED);
  const pods = podsWith(cluster, storedPod);
  const objects = capacity === undefined ? {} : { capacity: withoutDefaults(capacity, NO_CAPACITY_OBJECTS) };
  return {
    ...observation,
    cluster: { ...seen, ...objects, ...pods, nodes },
    cloud: { ...withoutDefaults(cloud, NOTHING_REPORTED), groups },
  };
}

function totalObservation(stored: StoredObservation): Observation {
  const { cloud, cluster } = stored;
  const groups = cloud.groups.map(
    ({ frozen, growthHeld, removalsHeld, removalsHeldOf, lastResort, deletionsWait, template, ...group }) => ({
      ...NOTHING_KNOWN,
      ...group,
      template: template && { ...NOTHING_SHOWN, ...template },
      blocks: recordedBlocks({ frozen, growthHeld, removalsHeld, removalsHeldOf, lastResort, deletionsWait }),
    }),
  );
  const nodes = new Map([...cluster.nodes].map(([name, node]) => [name, { ...UNREMARKABLE, ...node }]));
  const capacity = { ...NO_CAPACITY_OBJECTS, ...cluster.capacity };
  const pods = podsWith(cluster, totalPod);
  return {
    ...stored,
    cluster: { ...NOT_WATCHED, ...cluster, ...pods, capacity, nodes },
    cloud: { ...NOTHING_REPORTED, ...cloud, groups, schedules: { ...NO_SCHEDULES, ...cloud.schedules } },
  };
}

interface PodLists<One> {
  readonly podsByNode: ReadonlyMap<NodeName, readonly One[]>;
  readonly pendingPods: readonly One[];
}

function podsWith<From, To>({ podsByNode, pendingPods }: PodLists<From>, change: (pod: From) => To): PodLists<To> {
  const byNode = [...podsByNode].map(([node, pods]) => [node, pods.map(change)] as const);
  return { podsByNode: new Map(byNode), pendingPods: pendingPods.map(change) };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new AutoscalerError({ kind: 'config' }, 'The file is not a decision dump: it is not JSON.', { cause });
  }
  if (
    typeof body !== 'object' ||
    body === null ||
    !('version' in body) ||
    body.version !== DUMP_VERSION ||
    !('shapes' in body) ||
    !Array.isArray(body.shapes)
  ) {
    throw new AutoscalerError({ kind: 'config' }, `The file is not a decision dump of version ${DUMP_VERSION}.`);
  }
  return { ...body };
}

function encodeValue(value: unknown, names: ResourceNames, shapes: Map<PodShape, number> | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Float64Array) return { $resources: names.toRecord(value) };
  if (value instanceof Map) return { $map: [...value].map((entry) => encodeValue(entry, names, shapes)) };
  if (Array.isArray(value)) return value.map((part) => encodeValue(part, names, shapes));
  if (shapes !== undefined && isShape(value)) return { $shape: indexIn(shapes, value) };
  return encodeFields(value, names, shapes);
}

function encodeFields(value: object, names: ResourceNames, shapes: Map<PodShape, number> | undefined): unknown {
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, encodeValue(part, names, shapes)]));
}

function isShape(value: object): value is PodShape {
  return 'key' in value && 'requests' in value && value.requests instanceof Float64Array;
}

function indexIn(shapes: Map<PodShape, number>, shape: PodShape): number {
  const known = shapes.get(shape);
  if (known !== undefined) return known;
  shapes.set(shape, shapes.size);
  return shapes.size - 1;
}

function decodeValue(value: unknown, names: ResourceNames, shapes: readonly PodShape[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => decodeValue(part, names, shapes));
  if ('$shape' in value) return shapes[Number(value.$shape)];
  if ('$map' in value) return new Map(decodeValue(value.$map, names, shapes) as readonly (readonly [unknown, unknown])[]);
  if ('$resources' in value) return names.fromRecord(value.$resources as Readonly<Record<string, number>>);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decodeValue(part, names, shapes)]));
}

/** Leaves out what is as usual in a plan. */
export function plainPlan(plan: ScaleUpPlan | ScaleDownPlan): PlainPlan {
  return plain('reserved' in plan ? withoutDefaults(plan, USUAL) : plan);
}

const USUAL: Partial<ScaleUpPlan> = { reserved: [], retried: 0, notes: [] };

function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Map) return [...value].map(([key, part]) => [plain(key), plain(part)]);
  if (Array.isArray(value)) return value.map(plain);
  if (isPod(value)) return `${value.namespace}/${value.name} ${value.uid}`;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([key, part]) => [key, plain(part)]),
  );
}

function isPod(value: object): value is Pod {
  return 'shape' in value && 'uid' in value && 'namespace' in value;
}
