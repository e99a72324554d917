/** Keeps what was learned of each group's nodes, for the template of a group without nodes. Must not know where it is stored. */
import { foldName } from '../arm/resource-ids.ts';
import type { Instance } from '../../domain/node-group.ts';
import type { NodeGroupId, NodeName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { ClusterView } from '../../domain/observation.ts';
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
import { CustomDaemons, fromDaemonRecord } from './custom-daemons.ts';
import { StartupTaints } from './startup-taints.ts';
import type { TemplateSource } from '../rows/template-source.ts';
import type { CustomDaemon, NodeTemplate } from '../../domain/node-template.ts';

/** Longer than any instance takes to boot; a longer time has another cause. */
const LONGEST_BOOT_MS = 3_600_000;

/** The current state of one group. */
interface GroupToLearn {
  readonly key: string;
  readonly id: NodeGroupId;
  readonly source: TemplateSource;
  /** The row that the source was made from: the same object while it is unchanged. */
  readonly sourceRow: object;
  readonly pool: AgentPoolRow | undefined;
  readonly exemplar: Node | undefined;
  readonly instance: Instance | undefined;
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

interface NodeSighting {
  readonly node: Node;
  readonly fingerprint: TemplateFingerprint;
  readonly cluster: ClusterView;
  readonly customDaemons: readonly CustomDaemon[];
  readonly nowMs: number;
}

const NO_PODS: readonly Pod[] = [];

export class TemplateMemory {
  readonly #names: ResourceNames;
  readonly #metrics: Metrics['templates'];
  readonly #records = new Map<string, LearnedTemplate>();
  readonly #samples = new Map<string, LastSample>();
  readonly #fingerprints = new Map<string, KnownFingerprint>();
  readonly #startup = new StartupTaints();
  readonly #daemons = new CustomDaemons();
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

  /** Must be called once per view, before the groups. */
  observeNodes(cluster: ClusterView, groupOfNode: ReadonlyMap<NodeName, NodeGroupId>, nowMs: number): void {
    this.#startup.observe(cluster.nodes, groupOfNode, nowMs);
    this.#daemons.observe(cluster, groupOfNode);
  }

  /** Daemon pods of the group's next node that no built-in DaemonSet announces. The same array while nothing is new. */
  customDaemonsOf(id: NodeGroupId): readonly CustomDaemon[] {
    return this.#daemons.of(id);
  }

  /** Keys of taints that AKS declares only for the start of the group's nodes, as far as its nodes confirm that. */
  declaredStartupTaints(id: NodeGroupId, pool: AgentPoolRow | undefined): readonly string[] {
    return this.#startup.confirmDeclared(id, pool?.initializationTaints);
  }

  /** The valid record of the group, after learning from its exemplary node, if any. The same object while nothing is new. */
  templateFor(group: GroupToLearn, cluster: ClusterView, nowMs: number): LearnedTemplate | undefined {
    const { key, id, exemplar } = group;
    const fingerprint = this.#fingerprintOf(group);
    const recorded = this.#validRecord(key, fingerprint)?.customDaemons ?? [];
    const names = this.#names;
    const customDaemons = this.#daemons.update(
      id,
      recorded.map((daemon) => fromDaemonRecord(daemon, names)),
      nowMs,
    );
    if (exemplar !== undefined) this.#learnFrom(group, { node: exemplar, fingerprint, cluster, customDaemons, nowMs });
    return this.#validRecord(key, fingerprint);
  }

  #validRecord(key: string, fingerprint: TemplateFingerprint): LearnedTemplate | undefined {
    const record = this.#records.get(key);
    return record !== undefined && isValidFor(record, fingerprint) ? record : undefined;
  }

  /** The same object while the pool is unchanged. */
  #fingerprintOf({ key, source, sourceRow, pool }: GroupToLearn): TemplateFingerprint {
    const known = this.#fingerprints.get(key);
    if (known?.sourceRow === sourceRow && known.pool === pool) return known.fingerprint;
    const fingerprint = fingerprintOf(source, pool);
    this.#fingerprints.set(key, { sourceRow, pool, fingerprint });
    return fingerprint;
  }

  #learnFrom({ key, id, source, pool, instance }: GroupToLearn, sighting: NodeSighting): void {
    const { node, fingerprint, cluster, customDaemons, nowMs } = sighting;
    const pods = cluster.podsByNode.get(node.name) ?? NO_PODS;
    const { daemonSets } = cluster;
    const last = this.#samples.get(key);
    const isSame = last?.node === node && last.pods === pods && last.daemonSets === daemonSets;
    if (isSame && last.customDaemons === customDaemons && last.fingerprint === fingerprint) return;
    this.#samples.set(key, { node, pods, daemonSets, customDaemons, fingerprint });
    const bootMs = bootTimeMs(node, instance);
    const startupTaints = this.#startup.lostBy(id);
    const declaredStartupTaints = this.declaredStartupTaints(id, pool);
    const seen = { node, pods, daemonSets, customDaemons, bootMs, nowMs };
    const sample = { ...seen, source, fingerprint, startupTaints, declaredStartupTaints };
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

/** From the first sight of the instance to the ready node. undefined: this process did not see it start. */
function bootTimeMs(node: Node, instance: Instance | undefined): number | undefined {
  if (instance === undefined || instance.firstSeenMs >= node.createdAtMs) return undefined;
  const bootMs = node.readiness.sinceMs - instance.firstSeenMs;
  return bootMs > 0 && bootMs < LONGEST_BOOT_MS ? bootMs : undefined;
}
