/** Past changes of pools' capacities, for people: when, from and to, by whom, and why. */
import type { CapacityChange, HistoryReader } from '../../../domain/history.ts';
import type { NodeGroupId } from '../../../domain/ids.ts';
import { defined } from '../../../lib/defined.ts';

export interface PastChange {
  readonly at: string;
  readonly pool: string;
  readonly from: number;
  readonly to: number;
  /** Who made it: with the name of the activity log, where that is known. */
  readonly by: string;
  readonly why: string;
  readonly outcome: CapacityChange['outcome'];
  /** The id of the decision that made it. */
  readonly decision?: string;
}

const ACTORS: Readonly<Record<CapacityChange['actor'], string>> = {
  autoscaler: 'autoscaler',
  eviction: 'eviction',
  aks: 'AKS',
  'another-writer': 'another writer',
};

function pastChange({ atMs, group, from, to, actor, actorName, why, outcome, decision }: CapacityChange): PastChange {
  return {
    at: new Date(atMs).toISOString(),
    pool: group,
    from,
    to,
    by: actorName === undefined ? ACTORS[actor] : `${ACTORS[actor]}: ${actorName}`,
    why,
    outcome,
    ...defined({ decision }),
  };
}

/** The newest first. */
export function changesOfPool(history: HistoryReader | undefined, group: NodeGroupId, most: number): readonly PastChange[] {
  return (history?.changes({ group }) ?? []).slice(0, most).map(pastChange);
}

const MOST_DECISIONS = 50;

/** Changes that were decided for this pod, the newest first; at most three. Without any: the last change of the pool. */
export function changesForPod(history: HistoryReader | undefined, pod: string, pool: NodeGroupId | undefined): readonly PastChange[] {
  if (history === undefined) return [];
  const decisions = history.decisions({ text: `"${pod}"`, limit: MOST_DECISIONS });
  const ids = new Set(decisions.filter(({ kind }) => kind === 'increase').map(({ id }) => id));
  const own = history.changes({}).filter(({ decision }) => decision !== undefined && ids.has(decision));
  const shown = own.length > 0 || pool === undefined ? own.slice(0, 3) : history.changes({ group: pool }).slice(0, 1);
  return shown.map(pastChange);
}
