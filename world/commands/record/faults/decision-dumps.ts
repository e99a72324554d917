/** What a decision that this autoscaler wrote down says of Azure: what it refused, and the limits of pools. */
import { failureReason } from '../../../../src/azure/arm/errors.ts';
import { zonePart } from '../../../../src/domain/node-template.ts';
import type { Stockout } from '../../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { CloudEvent } from '../../../../src/domain/observation.ts';
import { ResourceNames } from '../../../../src/domain/resources.ts';
import type { ObservedLimits, ObservedRefusal } from '../../../lab/recordings/observed.ts';
import { defined } from '../../../../src/lib/defined.ts';
import { readDump } from '../../../../src/loop/replay/dump.ts';
import { poolOfGroup, whyByReason } from './autoscaler-events.ts';

export interface DecidedFaults {
  /** Of the decision, milliseconds since the epoch. */
  readonly atMs: number;
  readonly refusals: readonly ObservedRefusal[];
  readonly limits: readonly ObservedLimits[];
}

/** Whether the text may be such a file. */
export function isDecisionDump(head: string): boolean {
  return /^\s*\{\s*"version"\s*:\s*\d+\s*,\s*"observation"/.test(head);
}

/** @throws AutoscalerError `config` if it is not a dump of this version. */
export function readDumpFacts(text: string): DecidedFaults {
  const { observation, state } = readDump(text, new ResourceNames());
  const { groups, events } = observation.cloud;
  return {
    atMs: observation.nowMs,
    refusals: [...state.stockouts.flatMap((lack) => refusalsOfStockout(lack, groups)), ...events.flatMap(refusalsOfEvent)],
    limits: limitsOf(groups),
  };
}

function poolOf({ id, agentPool }: Pick<NodeGroup, 'id' | 'agentPool'>): string {
  return agentPool?.name ?? poolOfGroup(id);
}

/** Any pool of the size stands for it. A quota has no size: its refusals are events. */
function refusalsOfStockout({ scope, code, sinceMs }: Stockout, groups: readonly NodeGroup[]): readonly ObservedRefusal[] {
  const { vmSize, zone, priority } = scope;
  const group = groups.find(
    (each) => vmSize?.toLowerCase() === each.vmSize.toLowerCase() && (priority === undefined || priority === each.priority),
  );
  const place = defined({ zone: zone === undefined ? undefined : zonePart(zone) });
  return group === undefined ? [] : [{ atMs: sinceMs, pool: poolOf(group), why: 'stock', code, ...place }];
}

function refusalsOfEvent(event: CloudEvent): readonly ObservedRefusal[] {
  if (event.kind !== 'increase-failed') return [];
  const { group, requested, error, atMs } = event;
  const why = whyByReason(failureReason(error));
  return why === undefined ? [] : [{ atMs, pool: poolOfGroup(group), why, code: error.code, count: requested }];
}

/** Sizes of a VMs pool have their own: the pool has the sums. */
function limitsOf(groups: readonly NodeGroup[]): readonly ObservedLimits[] {
  const found = new Map<string, ObservedLimits>();
  for (const group of groups) {
    const pool = poolOf(group);
    const { min, max } = found.get(pool) ?? { min: 0, max: 0 };
    found.set(pool, { pool, min: min + group.minSize, max: max + group.maxSize });
  }
  return [...found.values()];
}
