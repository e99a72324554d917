/**
 * What real nodes of each group show of its next node. A group with a settled node is like that node; another group is like its last node, as
 * an earlier process may have stored it. Must not know where that is stored.
 * Idea: evidence.
 */
import { foldName } from '../arm/resource-ids.ts';
import type { Instance } from '../../domain/node-group.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Pod } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import {
  fingerprintOf,
  isValidFor,
  learnFrom,
  type LearnedTemplate,
  type TemplateFingerprint,
  readLearned,
  writeLearned,
} from './learned-templates.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import { CustomDaemons, customDaemonsIn } from './custom-daemons.ts';
import { fromStored } from './node-pods.ts';
import { nodesOfGroups, type GroupNodes, type NodesOfGroups, type SeenNodes } from './nodes-of-groups.ts';
import { StartupTaints } from './startup-taints.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import type { CustomDaemon, NodeTemplate } from '../../domain/node-template.ts';

/** Longer than any instance takes to boot; a longer time has another cause. */
const LONGEST_BOOT_MS = 3_600_000;

/** What real nodes of one group show of its next node. The same object while nothing is new. */
export interface Evidence {
  /** A settled node: the next node is like it. */
  readonly exemplar: Node | undefined;
  /** Without an exemplar: a node that is unready, cordoned, or ready for too short a time. */
  readonly fallback: Node | undefined;
  /** What was learned from present and former nodes, if it is still valid. */
  readonly learned: LearnedTemplate | undefined;
  /** Daemon pods of new nodes that no built-in DaemonSet announces. */
  readonly customDaemons: readonly CustomDaemon[];
  /** Keys of taints that AKS declares only for the start of its nodes, as far as the nodes confirm that, joined by commas. */
  readonly startupTaints: string;
}

/** The current rows of one group. */
export interface GroupRowsSeen {
  readonly key: string;
  readonly id: NodeGroupId;
  readonly source: TemplateSource | undefined;
  /** The row that the source was made from: the same object while it is unchanged. */
  readonly sourceRow: object | undefined;
  readonly pool: AgentPoolRow | undefined;
  readonly instances: readonly Instance[] | undefined;
}

/** The rows of a group that Azure has listed. */
type KnownRows = GroupRowsSeen & { readonly source: TemplateSource; readonly sourceRow: object };

/** What is remembered of one group from view to view. */
interface GroupMemory {
  readonly daemons: CustomDaemons;
  readonly taints: StartupTaints;
  /** What the record was last made from. */
  sample: LastSample | undefined;
  fingerprint: KnownFingerprint | undefined;
  evidence: Evidence | undefined;
}

interface LastSample {
  readonly node: Node;
  readonly pods: unknown;
  readonly daemonSets: unknown;
  readonly customDaemons: unknown;
  readonly fingerprint: TemplateFingerprint;
}

interface KnownFingerprint {
  readonly sourceRow: object;
  readonly pool: AgentPoolRow | undefined;
  readonly fingerprint: TemplateFingerprint;
}

const NO_PODS: readonly Pod[] = [];
const NO_NODES: GroupNodes = { all: [], settling: [], exemplar: undefined, fallback: undefined };

export class NodeEvidence {
  readonly #names: ResourceNames;
  readonly #metrics: Metrics['templates'];
  /** The part that outlives a process, by the key of the group. */
  readonly #records = new Map<string, LearnedTemplate>();
  readonly #groups = new Map<NodeGroupId, GroupMemory>();
  #nodes: NodesOfGroups | undefined;
  #lastNodes: SeenNodes['cluster']['nodes'] | undefined;
  #revision = 0;

  constructor(names: ResourceNames, metrics: Metrics['templates']) {
    this.#names = names;
    this.#metrics = metrics;
  }

  /** Grows with each change of the records. */
  get revision(): number {
    return this.#revision;
  }

  get text(): string {
    return writeLearned(this.#records);
  }

  recordOf(key: string): LearnedTemplate | undefined {
    return this.#records.get(foldName(key));
  }

  /** Restores the records of an earlier process; records of this process win. @returns why the text is not used. */
  restore(text: string): string | undefined {
    const read = readLearned(text);
    if (!read.ok) return read.reason;
    for (const [key, record] of read.records) if (!this.#records.has(key)) this.#records.set(key, record);
    return undefined;
  }

  /** Does a part of what `observe` would do. */
  prepare(seen: SeenNodes): void {
    this.#nodes = nodesOfGroups(this.#nodes, seen);
  }

  /** Must be called once per view. @returns the evidence of one group, after learning from its exemplar, if any. */
  observe(seen: SeenNodes): (rows: GroupRowsSeen) => Evidence {
    this.prepare(seen);
    const { cluster, nowMs } = seen;
    for (const id of this.#nodes?.groups.keys() ?? []) this.#memoryOf(id);
    if (this.#lastNodes !== cluster.nodes) for (const [id, { taints }] of this.#groups) taints.observe(this.#nodesOf(id).all, nowMs);
    this.#lastNodes = cluster.nodes;
    const withDaemons = { ...seen, daemonsOn: customDaemonsIn(cluster) };
    return (rows) => this.#evidenceOf(rows, withDaemons);
  }

  #memoryOf(id: NodeGroupId): GroupMemory {
    const known = this.#groups.get(id);
    if (known !== undefined) return known;
    const memory: GroupMemory = {
      daemons: new CustomDaemons(),
      taints: new StartupTaints(),
      sample: undefined,
      fingerprint: undefined,
      evidence: undefined,
    };
    this.#groups.set(id, memory);
    return memory;
  }

  #nodesOf(id: NodeGroupId): GroupNodes {
    return this.#nodes?.groups.get(id) ?? NO_NODES;
  }

  #evidenceOf(rows: GroupRowsSeen, seen: DaemonsSeen): Evidence {
    const memory = this.#memoryOf(rows.id);
    const { exemplar, fallback } = this.#nodesOf(rows.id);
    const learned = isKnown(rows) ? this.#learn(rows, memory, seen) : undefined;
    const customDaemons = memory.daemons.known;
    const startupTaints = memory.taints.confirm(rows.pool?.initializationTaints).join();
    const next: Evidence = { exemplar, fallback, learned, customDaemons, startupTaints };
    if (memory.evidence === undefined || !isSameEvidence(memory.evidence, next)) memory.evidence = next;
    return memory.evidence;
  }

  /** The valid record of the group. The same object while nothing is new. */
  #learn(rows: KnownRows, memory: GroupMemory, { daemonsOn, ...seen }: DaemonsSeen): LearnedTemplate | undefined {
    const names = this.#names;
    const { settling: nodes, exemplar } = this.#nodesOf(rows.id);
    const fingerprint = currentFingerprint(rows, memory);
    const stored = this.#validRecord(rows.key, fingerprint)?.customDaemons ?? [];
    const recorded = stored.map((daemon) => fromStored(daemon, names));
    memory.daemons.update({ nodes, daemonsOn, recorded, nowMs: seen.nowMs });
    if (exemplar !== undefined) this.#learnFrom(exemplar, rows, memory, seen);
    return this.#validRecord(rows.key, fingerprint);
  }

  #validRecord(key: string, fingerprint: TemplateFingerprint): LearnedTemplate | undefined {
    const record = this.#records.get(key);
    return record !== undefined && isValidFor(record, fingerprint) ? record : undefined;
  }

  #learnFrom(node: Node, rows: KnownRows, memory: GroupMemory, seen: SeenNodes): void {
    const { key, id, source, pool } = rows;
    const { cluster, nowMs } = seen;
    const fingerprint = currentFingerprint(rows, memory);
    const pods = cluster.podsByNode.get(node.name) ?? NO_PODS;
    const { daemonSets } = cluster;
    const customDaemons = memory.daemons.known;
    const last = memory.sample;
    const isSame = last?.node === node && last.pods === pods && last.daemonSets === daemonSets;
    if (isSame && last.customDaemons === customDaemons && last.fingerprint === fingerprint) return;
    memory.sample = { node, pods, daemonSets, customDaemons, fingerprint };
    const startupTaints = memory.taints.lost();
    const declaredStartupTaints = memory.taints.confirm(pool?.initializationTaints);
    const bootMs = bootTimeMs(node, instanceOf(node, rows, seen));
    const sample = { node, pods, daemonSets, customDaemons, bootMs, nowMs, source, fingerprint, startupTaints, declaredStartupTaints };
    const before = this.#records.get(key);
    const after = learnFrom(before, sample, this.#names);
    if (after.bootMs !== undefined) this.#metrics.bootSeconds.set({ node_group: id }, after.bootMs / 1000);
    if (after === before) return;
    this.#records.set(key, after);
    this.#revision += 1;
  }

  /** Publishes the error of the estimate against a real node. */
  measureEstimate(id: NodeGroupId, estimate: NodeTemplate, real: Node): void {
    const expected = this.#names.toRecord(estimate.allocatable);
    for (const [resource, amount] of Object.entries(this.#names.toRecord(real.allocatable))) {
      this.#metrics.estimateError.set({ node_group: id, resource }, (expected[resource] ?? 0) / amount - 1);
    }
  }
}

type DaemonsSeen = SeenNodes & { readonly daemonsOn: (node: Node) => readonly CustomDaemon[] };

function isKnown(rows: GroupRowsSeen): rows is KnownRows {
  return rows.source !== undefined && rows.sourceRow !== undefined;
}

function isSameEvidence(left: Evidence, right: Evidence): boolean {
  return (Object.keys(left) as (keyof Evidence)[]).every((key) => left[key] === right[key]);
}

/** The same object while the pool is unchanged. */
function currentFingerprint({ source, sourceRow, pool }: KnownRows, memory: GroupMemory): TemplateFingerprint {
  const known = memory.fingerprint;
  if (known?.sourceRow === sourceRow && known.pool === pool) return known.fingerprint;
  const fingerprint = fingerprintOf(source, pool);
  memory.fingerprint = { sourceRow, pool, fingerprint };
  return fingerprint;
}

function instanceOf(node: Node, { instances }: GroupRowsSeen, { ownership }: SeenNodes): Instance | undefined {
  const key = ownership.instanceOfNode.get(node.name);
  return key === undefined ? undefined : instances?.find((instance) => instance.key === key);
}

/** From the first sight of the instance to the ready node. undefined: this process did not see it start. */
function bootTimeMs(node: Node, instance: Instance | undefined): number | undefined {
  if (instance === undefined || instance.firstSeenMs >= node.createdAtMs) return undefined;
  const bootMs = node.readiness.sinceMs - instance.firstSeenMs;
  return bootMs > 0 && bootMs < LONGEST_BOOT_MS ? bootMs : undefined;
}
