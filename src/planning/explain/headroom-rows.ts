/** What a plan keeps free, for people: each configured headroom, how much of it is there, is coming or is missing, and why. Pure. */
import type { Headroom } from '../../domain/headroom.ts';
import type { NodeName } from '../../domain/ids.ts';
import type { ScaleUpPlan } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';
import type { GroupRefusal, PodVerdict } from '../../domain/reasons.ts';
import { compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { allBuffers, type HeadroomDemand, type HeadroomInput, headroomDemands } from '../scale-up/groups/headroom.ts';
import { isHeadroom } from '../state/assumed-pods.ts';
import { formatAmount } from './amounts.ts';
import { namePools, poolRows } from './pool-rows.ts';

export interface HeadroomRow {
  /** The pool. Absent for headroom of the cluster. */
  readonly group?: string;
  /** `1 node`, `8 CPU and 32 GiB in 8 pieces`. */
  readonly amount: string;
  /** Nodes, pieces or copies: how many are wanted, kept free on present nodes, on their way, and missing. */
  readonly wanted: number;
  readonly kept: number;
  readonly coming: number;
  readonly missing: number;
  /** The nodes that have the room, by name; the first few. */
  readonly nodes: readonly NodeName[];
  /** Why something is missing, or nothing is wanted. Absent if neither is so. */
  readonly why?: string;
  /** Complete, without a full stop and without the pool. */
  readonly sentence: string;
}

const MOST_NODES = 3;

/** In the order of the groups, then of the cluster. Empty if no headroom is configured. */
export function headroomRows(input: HeadroomInput, { verdicts }: Pick<ScaleUpPlan, 'verdicts'>): readonly HeadroomRow[] {
  const demands = headroomDemands(input);
  if (demands.length === 0) return [];
  const wanted = new Map(allBuffers(input, demands).map(({ ref, replicas }) => [ref.uid, replicas]));
  const byOwner = verdictsByOwner(verdicts);
  const groups = new Map(input.observation.cloud.groups.map((group) => [group.id as string, group]));
  const explain = (refusals: readonly GroupRefusal[]): string => {
    const [row] = poolRows(refusals, groups);
    return row === undefined ? 'there is no pool' : `${namePools(row.pools)}: ${row.obstacles.join(', and ')}`;
  };
  return demands.map((demand) => rowOf(demand, { wanted: wanted.get(demand.uid) ?? 0, verdicts: byOwner.get(demand.uid) ?? [], explain }));
}

function verdictsByOwner(verdicts: ReadonlyMap<Pod, PodVerdict>): ReadonlyMap<string, readonly PodVerdict[]> {
  const found = new Map<string, PodVerdict[]>();
  for (const [pod, verdict] of verdicts) {
    if (!isHeadroom(pod)) continue;
    const uid = pod.controller?.uid ?? '';
    const known = found.get(uid);
    if (known === undefined) found.set(uid, [verdict]);
    else known.push(verdict);
  }
  return found;
}

interface Found {
  readonly wanted: number;
  readonly verdicts: readonly PodVerdict[];
  readonly explain: (refusals: readonly GroupRefusal[]) => string;
}

function rowOf(demand: HeadroomDemand, { wanted, verdicts, explain }: Found): HeadroomRow {
  const on = verdicts.flatMap((verdict) => (verdict.kind === 'fits-present-node' ? [verdict.node] : []));
  const coming = verdicts.filter(({ kind }) => kind === 'fits-upcoming-node' || kind === 'triggered').length;
  const missing = wanted - on.length - coming;
  const nodes = [...new Set(on)].sort(compareText);
  const why = whyMissing(demand, { wanted, missing, verdicts, explain });
  const row = { amount: describeHeadroom(demand.amount), wanted, kept: on.length, coming, missing, nodes: nodes.slice(0, MOST_NODES) };
  return { ...row, ...defined({ group: demand.group, why }), sentence: `${sentenceOf(row, nodes.length, why)}${asWritten(demand)}` };
}

function asWritten({ room }: HeadroomDemand): string {
  const { notAdmitted = '', like } = 'problem' in room ? {} : room;
  if (like !== undefined) return `; as its newest pod ${like} is`;
  return notAdmitted === '' ? '' : `; its template counts as it is written, since a dry run failed: ${notAdmitted}`;
}

function whyMissing(
  { room, group, amount }: HeadroomDemand,
  { wanted, missing, verdicts, explain }: Found & { readonly missing: number },
): string | undefined {
  if ('problem' in room) return room.problem;
  if (wanted === 0 && amount.kind === 'copies' && room.count > 0) return 'room for copies of the workload is kept elsewhere already';
  if (wanted === 0 && amount.kind === 'percent' && amount.percent > 0) return 'no pod requests anything there';
  if (missing <= 0) return undefined;
  for (const verdict of verdicts) {
    if (verdict.kind === 'waiting') return verdict.detail;
    if (verdict.kind !== 'helpless') continue;
    const own = verdict.byGroup.filter((refusal) => refusal.group === group);
    return explain(own.length > 0 ? own : verdict.byGroup);
  }
  return 'one plan has no place for more pods (scaleUp.podInjectionLimit)';
}

function sentenceOf(
  { amount, wanted, kept, coming, missing, nodes }: Omit<HeadroomRow, 'sentence'>,
  nodeCount: number,
  why: string | undefined,
): string {
  if (wanted === 0) return why === undefined ? `${amount}: nothing is kept free` : `${amount}: nothing is kept free, since ${why}`;
  const more = nodeCount > nodes.length ? ` and ${nodeCount - nodes.length} more` : '';
  const parts = [
    kept === 0 ? '' : `${kept} of ${wanted} kept free on ${nodes.join(', ')}${more}`,
    coming === 0 ? '' : `${coming} of ${wanted} coming`,
    missing <= 0 ? '' : `${missing} of ${wanted} missing: ${why ?? ''}`,
  ];
  return `${amount}: ${parts.filter((part) => part !== '').join('; ')}`;
}

function describeHeadroom(amount: Headroom): string {
  switch (amount.kind) {
    case 'nodes':
      return `${amount.nodes} ${amount.nodes === 1 ? 'free node' : 'free nodes'}`;
    case 'percent':
      return `${amount.percent} % of what pods request`;
    case 'amounts': {
      const { cpuMillis, memoryBytes, pieces } = amount;
      const cpu = cpuMillis === 0 ? [] : [`${formatAmount('cpu', cpuMillis)} CPU`];
      const memory = memoryBytes === 0 ? [] : [`${formatAmount('memory', memoryBytes)} memory`];
      return `${[...cpu, ...memory].join(' and ') || 'no amount'}${pieces > 1 ? ` in ${pieces} pieces` : ''}`;
    }
    case 'copies':
      return `${amount.count} ${amount.count === 1 ? 'copy' : 'copies'} of ${amount.of.kind} ${amount.of.namespace}/${amount.of.name}`;
  }
}
