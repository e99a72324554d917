/** All kinds of changes: a kind is added as one entry of one table. */
import type { Observation } from '../../../domain/observation.ts';
import { BUDGET_CHANGES } from './budget-changes.ts';
import type { ChangeKind, EffectInput, FixStep, World } from './change.ts';
import { LIMIT_CHANGES } from './limit-changes.ts';
import { NEW_POOL_CHANGES } from './new-pool.ts';
import { NODE_CHANGES } from './node-changes.ts';
import { POD_CHANGES } from './pod-changes.ts';
import { POOL_CHANGES } from './pool-changes.ts';
import { WORKLOAD_CHANGES } from './workload-changes.ts';
import type { Workload } from './workload.ts';

const ENTRIES = {
  ...LIMIT_CHANGES,
  ...POOL_CHANGES,
  ...NEW_POOL_CHANGES,
  ...POD_CHANGES,
  ...WORKLOAD_CHANGES,
  ...BUDGET_CHANGES,
  ...NODE_CHANGES,
};

type Kind = keyof typeof ENTRIES;
type DataOf<Of extends Kind> = (typeof ENTRIES)[Of] extends ChangeKind<infer Data> ? Data : never;

/** A change as data. Amounts are in base units: nodes, cores of a limit or quota, millicores, bytes or ones. */
export type Change<Of extends Kind = Kind> = { readonly [Each in Of]: { readonly kind: Each } & DataOf<Each> }[Of];

const KINDS: { readonly [Of in Kind]: ChangeKind<Change<Of>> } = ENTRIES;

function kindOf<Of extends Kind>(change: Change<Of>): ChangeKind<Change<Of>> {
  return KINDS[change.kind];
}

/** A set of changes in one sentence part. */
export function describeChanges(changes: readonly Change[]): string {
  return changes.map((change) => kindOf(change).describe(change)).join(', and ');
}

interface ChangesInput {
  readonly observation: Observation;
  /** Whose pod template the changes are about that do not name it. If absent, no change is about pods, or nothing is known of them. */
  readonly workload?: Workload;
  /** How many nodes were added where the changes were simulated. If absent, none. */
  readonly newNodes?: number;
}

const UNKNOWN_WORKLOAD: Workload = { kind: 'Pod', namespace: '', name: '' };

/** How a set of changes is carried out. */
export function stepsFor(
  changes: readonly Change[],
  { observation, workload = UNKNOWN_WORKLOAD, newNodes = 0 }: ChangesInput,
): readonly FixStep[] {
  return changes.flatMap((change) => kindOf(change).steps(change, { observation, workload, newNodes }));
}

/** undefined: one of the changes has no meaning in this world. */
export function applyChanges<Of extends World>(world: Of, changes: readonly Change[], input: EffectInput): Of | undefined {
  const { observation, policy } = world;
  const start: World = { observation, policy };
  const changed = changes.reduce<World | undefined>((before, change) => before && kindOf(change).apply(before, change, input), start);
  return changed === undefined ? undefined : { ...world, ...changed };
}
