/**
 * Records what was learned from a group's nodes, so that the template of a group without nodes is better than an estimate from
 * its size. A record is valid for the fingerprint under which it was learned: it is ignored after AKS or a person changes the
 * pool.
 * Idea: evidence.
 */
import { isDeepStrictEqual } from 'node:util';
import { usualPools, type DevicePool } from '../../domain/devices.ts';
import type { Labels } from '../../domain/labels.ts';
import { type Node, UNREMARKABLE } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Taint } from '../../domain/taints.ts';
import type { AttachLimits } from '../../domain/volumes.ts';
import type { DaemonSet } from '../../domain/workloads.ts';
import { stableHash } from '../../lib/random.ts';
import { isRecord, withoutDefaults } from '../../lib/json.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { templateLabels, templateResources, templateTaints } from '../rows/tags.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import { zoneLabels } from './aks-labels.ts';
import { templateFromNode } from './from-node.ts';
import { fromStored, staticPodsOf, toStored, type Stored } from './node-pods.ts';
import type { CustomDaemon, TemplateOrigin, TemplateOrigins, NodeTemplate, StaticPod } from '../../domain/node-template.ts';
import { compareText } from '../../lib/comparison.ts';

type Amounts = Readonly<Record<string, number>>;

/** Hashes of what a new node depends on. `pool` is empty if the agent pool was unknown. */
export interface TemplateFingerprint {
  readonly set: string;
  readonly pool: string;
}

export interface LearnedTemplate {
  readonly vmSize: string;
  readonly facts: TemplateFingerprint;
  /** When it last changed, in milliseconds since the epoch. */
  readonly learnedAtMs: number;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  /** Keys of taints that nodes of the group lost during their start. */
  readonly startupTaints: readonly string[];
  /** In the units of resource vectors. */
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
  readonly daemonRequests: Readonly<Record<string, Amounts>>;
  /** Static pods of the kubelet. */
  readonly staticPods: readonly Stored<StaticPod>[];
  /** Daemon pods that no built-in DaemonSet announces. */
  readonly customDaemons: readonly Stored<CustomDaemon>[];
  /** From the first sight of the instance to the ready node, in milliseconds. undefined: unknown. */
  readonly bootMs: number | undefined;
  /** Attachable volumes by driver. */
  readonly attachLimits: AttachLimits;
  /** Devices that drivers publish; pool names are not those of a node. */
  readonly devicePools: readonly DevicePool[];
  /** Whether `devicePools` say which parts of the devices claims may have. Versions that read no parts stored none. */
  readonly knowsParts: boolean;
  readonly declaredFeatures: readonly string[];
}

/**
 * The fingerprint of what a new node depends on, as far as Azure and AKS return it. The node image is left out: it changes
 * every week, and the node little.
 */
export function fingerprintOf(source: TemplateSource, pool: AgentPoolRow | undefined): TemplateFingerprint {
  const { tags, vmSize, os, priority } = source;
  const { ephemeral, tier, sizeGb } = source.osDisk;
  const templateTags = [templateLabels(tags), templateTaints(tags), templateResources(tags)];
  const minor = pool?.kubernetesVersion?.split('.').slice(0, 2).join('.');
  return {
    set: hashOf([vmSize.toLowerCase(), os, priority, { ephemeral, tier, sizeGb }, templateTags]),
    pool: pool === undefined ? '' : hashOf([pool.labels, pool.taints, pool.maxPods, pool.osDiskSizeGb, pool.osSku, minor]),
  };
}

function hashOf(parts: readonly unknown[]): string {
  return stableHash(JSON.stringify(parts)).toString(16);
}

export function isValidFor(record: LearnedTemplate, fingerprint: TemplateFingerprint): boolean {
  const poolKnown = record.facts.pool !== '' && fingerprint.pool !== '';
  return record.facts.set === fingerprint.set && (!poolKnown || record.facts.pool === fingerprint.pool);
}

export interface NodeSample {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly daemonSets: readonly DaemonSet[];
  /** Those of its group. */
  readonly customDaemons: readonly CustomDaemon[];
  readonly source: TemplateSource;
  readonly fingerprint: TemplateFingerprint;
  readonly startupTaints: readonly string[];
  /** Keys of startup taints that AKS declares; this node may still carry them. */
  readonly declaredStartupTaints: readonly string[];
  readonly bootMs: number | undefined;
  readonly nowMs: number;
}

/** Returns the record after one more sample of a node: the same object if nothing is new. */
export function learnFrom(before: LearnedTemplate | undefined, sample: NodeSample, names: ResourceNames): LearnedTemplate {
  const { node, source, fingerprint, nowMs, declaredStartupTaints } = sample;
  const known = before !== undefined && isValidFor(before, fingerprint) ? before : undefined;
  const { labels, taints: carried } = templateFromNode(node, source);
  const taints = carried.filter(({ key }) => !declaredStartupTaints.includes(key));
  const zonal = new Set(Object.keys(zoneLabels(source)));
  const bootMs = sample.bootMs ?? known?.bootMs;
  const next: LearnedTemplate = {
    vmSize: source.vmSize,
    facts: fingerprint.pool === '' && known !== undefined ? known.facts : fingerprint,
    learnedAtMs: nowMs,
    labels: Object.fromEntries(
      Object.entries(labels)
        .filter(([key]) => !zonal.has(key))
        .sort(byKey),
    ),
    taints,
    startupTaints: [...new Set([...(known?.startupTaints ?? []), ...sample.startupTaints, ...declaredStartupTaints])]
      .filter((key) => !taints.some((taint) => taint.key === key))
      .sort()
      .slice(0, MOST_STARTUP_TAINTS),
    capacity: names.toRecord(node.capacity),
    allocatable: names.toRecord(node.allocatable),
    daemonRequests: daemonRequests(sample, known?.daemonRequests ?? {}, names),
    staticPods: staticPodsOf(sample.pods, node.name).map((pod) => toStored(pod, names)),
    customDaemons: sample.customDaemons.map((daemon) => toStored(daemon, names)),
    bootMs,
    attachLimits: node.attachLimits,
    ...storedPools(node),
    declaredFeatures: node.declaredFeatures,
  };
  return known !== undefined && isSameRecord(known, next) ? known : next;
}

const MOST_STARTUP_TAINTS = 20;
const MOST_DAEMONS = 50;

/** Device pools are stored without their names, which often contain the node's. Longer lists are not stored. */
const MOST_DEVICE_CHARACTERS = 50_000;

function storedPools({ devices }: Node): Pick<LearnedTemplate, 'devicePools' | 'knowsParts'> {
  const pools = usualPools(devices.pools).map(({ devices: members, ...pool }, at) => {
    const name = `pool-${at}`;
    return { ...pool, name, devices: members.map((device) => ({ ...device, pool: name })) };
  });
  const isTooLong = JSON.stringify(pools).length > MOST_DEVICE_CHARACTERS;
  return isTooLong || pools.length === 0 ? { devicePools: [], knowsParts: false } : { devicePools: pools, knowsParts: true };
}

function byKey([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return compareText(left, right);
}

/**
 * Requests of DaemonSet pods that exceed their DaemonSet: requests that were injected, defaulted or increased on the way to
 * the node.
 */
function daemonRequests(
  { pods, daemonSets }: NodeSample,
  before: LearnedTemplate['daemonRequests'],
  names: ResourceNames,
): LearnedTemplate['daemonRequests'] {
  const found: Record<string, Amounts> = {};
  for (const { namespace, name, uid, shape } of daemonSets) {
    const pod = pods.find(({ daemonSet, controller }) => daemonSet && controller?.uid === uid);
    const key = `${namespace}/${name}`;
    // A DaemonSet pod that is being replaced keeps its last requests.
    if (pod === undefined && before[key] !== undefined) found[key] = before[key];
    if (pod?.shape.requests.some((amount, index) => amount > (shape.requests[index] ?? 0)) === true)
      found[key] = names.toRecord(pod.shape.requests);
  }
  return Object.fromEntries(Object.entries(found).sort(byKey).slice(0, MOST_DAEMONS));
}

function isSameRecord(left: LearnedTemplate, right: LearnedTemplate): boolean {
  return isDeepStrictEqual({ ...left, learnedAtMs: 0 }, { ...right, learnedAtMs: 0 });
}

/** The template of a group's next node, as its last node was. Newer facts from AKS win. */
export function templateFromRecord(
  record: LearnedTemplate,
  source: TemplateSource,
  pool: AgentPoolRow | undefined,
  names: ResourceNames,
): NodeTemplate {
  const image = pool?.nodeImageVersion;
  const imageLabel: Labels = image === undefined || image === '' ? {} : { 'kubernetes.azure.com/node-image-version': image };
  const node = {
    ...PLACEHOLDER_NODE,
    labels: record.labels,
    taints: record.taints,
    capacity: names.fromRecord(record.capacity),
    allocatable: names.fromRecord(record.allocatable),
    declaredFeatures: record.declaredFeatures,
  };
  const template = templateFromNode(node, source);
  const labels = { ...template.labels, ...imageLabel };
  const plain = { ...template, labels, devicePools: record.devicePools, source: 'learned' } as const;
  const origins = originsFrom('learned', plain, names);
  return {
    ...plain,
    origins: {
      ...origins,
      labels: { ...origins.labels, ...sameOrigin('aks', zoneLabels(source)), ...sameOrigin('agent-pool', imageLabel) },
    },
  };
}

const PLACEHOLDER_NODE = {
  ...UNREMARKABLE,
  name: '',
  uid: '',
  providerId: '',
  unschedulable: false,
  createdAtMs: 0,
  deletionAtMs: undefined,
  readiness: { ready: true, sinceMs: 0, reason: '' },
  scaleDownDisabled: false,
} as const;

/** Gives every part of a template the same origin. */
export function originsFrom(origin: TemplateOrigin, template: NodeTemplate, names: ResourceNames): TemplateOrigins {
  return {
    labels: sameOrigin(origin, template.labels),
    taints: sameOrigin(origin, Object.fromEntries(template.taints.map(({ key }) => [key, ''] as const))),
    capacity: sameOrigin(origin, names.toRecord(template.capacity)),
    allocatable: sameOrigin(origin, names.toRecord(template.allocatable)),
  };
}

function sameOrigin(origin: TemplateOrigin, parts: Readonly<Record<string, unknown>>): Readonly<Record<string, TemplateOrigin>> {
  return Object.fromEntries(Object.keys(parts).map((key) => [key, origin]));
}

/** Adds what was learned of DaemonSet requests, static pods and startup taints to a template. */
export function withLearnedParts(template: NodeTemplate, record: LearnedTemplate | undefined, names: ResourceNames): NodeTemplate {
  if (record === undefined) return template;
  const { startupTaints, daemonRequests: asked, staticPods } = record;
  const requests = Object.entries(asked).map(([key, amounts]) => [key, names.fromRecord(amounts)] as const);
  return {
    ...withoutStartupTaints(template, startupTaints),
    daemonRequests: new Map(requests),
    staticPods: staticPods.map((pod) => fromStored(pod, names)),
  };
}

/**
 * Removes taints that new nodes lose during their start. Their keys are kept in `startupTaints`: a node that carries one is
 * still starting.
 */
export function withoutStartupTaints(template: NodeTemplate, keys: readonly string[]): NodeTemplate {
  if (keys.length === 0) return template;
  const startupTaints = [...new Set([...template.startupTaints, ...keys])];
  return { ...template, taints: template.taints.filter(({ key }) => !keys.includes(key)), startupTaints };
}

const VERSION = 1;
/** Records leave these out if nothing was learned of them. */
const NOTHING_LEARNED = {
  staticPods: [],
  customDaemons: [],
  bootMs: undefined,
  attachLimits: {},
  devicePools: [],
  knowsParts: false,
  declaredFeatures: [],
} as const satisfies Partial<LearnedTemplate>;
/** A ConfigMap holds 1 MiB including everything around its data. */
const MOST_BYTES = 900_000;

/** The records as text for the next process. The newest come first, and the text ends at its size limit. */
export function writeLearned(records: ReadonlyMap<string, LearnedTemplate>): string {
  const newest = [...records].sort(
    ([leftKey, left], [rightKey, right]) => right.learnedAtMs - left.learnedAtMs || compareText(leftKey, rightKey),
  );
  const groups: Record<string, object> = {};
  let left = MOST_BYTES;
  for (const [key, whole] of newest) {
    const record = withoutDefaults(whole, NOTHING_LEARNED);
    left -= Buffer.byteLength(JSON.stringify([key, record]));
    if (left < 0) break;
    groups[key] = record;
  }
  return JSON.stringify({ version: VERSION, sum: sumOf(groups), groups });
}

type StoredTemplate = Omit<LearnedTemplate, keyof typeof NOTHING_LEARNED> & Partial<LearnedTemplate>;

type ReadLearned =
  | { readonly ok: true; readonly records: ReadonlyMap<string, LearnedTemplate> }
  /** Why the text is not used, as a sentence. */
  | { readonly ok: false; readonly reason: string };

/** Reads records that an earlier process wrote. An edited text is not used: plans would be made from a guess. */
export function readLearned(text: string): ReadLearned {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'it is not JSON' };
  }
  if (!isRecord(parsed)) return { ok: false, reason: 'it is not an object' };
  if (parsed['version'] !== VERSION) return { ok: false, reason: `its version is ${JSON.stringify(parsed['version'])}, not ${VERSION}` };
  const groups = parsed['groups'];
  if (!isRecord(groups)) return { ok: false, reason: 'it has no groups' };
  if (parsed['sum'] !== sumOf(groups)) return { ok: false, reason: 'it was changed since it was written' };
  // A text with our checksum was written by us, in this version's form.
  const records = Object.entries(groups as Readonly<Record<string, StoredTemplate>>);
  return { ok: true, records: new Map(records.map(([key, record]) => [key, withoutUnknownParts({ ...NOTHING_LEARNED, ...record })])) };
}

/** Of devices whose parts are not known, claims have none: what they may have of a capacity would be a guess. */
function withoutUnknownParts(record: LearnedTemplate): LearnedTemplate {
  // guard: claims have no part of a device whose parts no node has shown
  if (record.knowsParts) return record;
  const devicePools = record.devicePools.map((pool) => ({ ...pool, devices: pool.devices.map((device) => ({ ...device, divided: {} })) }));
  return { ...record, devicePools };
}

function sumOf(groups: object): string {
  return stableHash(JSON.stringify(groups)).toString(16).padStart(8, '0');
}
