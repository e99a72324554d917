/**
 * Why a group may not be changed or increased now: one ordered list of rules for every use. The first that applies is the reason. What lasts
 * longest comes first, so that a reason that passes does not hide it; then what this process knows of its own writes; data that is too old comes
 * last, since it says nothing about the group. Must not know where the facts were read.
 */
import type { ChangeBlock, GroupBlock, IncreaseBlock } from '../../domain/group-blocks.ts';
import { isSettled, type AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { VMS_POOL_TYPE, type PoolSizeRow } from '../rows/vms-pool.ts';
import { isSupportedType, type RegisteredGroup } from './registry.ts';

/**
 * `view`: in each loop. `gate`: before a write, over the same tables. `lock`: under the lock of the write, over what was just read. `doctor`: over
 * lists, by a program that knows nothing else.
 */
type RuleUse = 'view' | 'gate' | 'lock' | 'doctor';

/** What the rules against any change are about. */
export interface ChangeRuleInput {
  readonly group: RegisteredGroup;
  /** Of a scale set. */
  readonly row: ScaleSetRow | undefined;
  /** Of a group that is a size of a pool. */
  readonly size: PoolSizeRow | undefined;
  /** The agent pool of a scale set, or of the group's name. */
  readonly pool: AgentPoolRow | undefined;
  /** The pools of AKS's own autoscaler are decided about, and never written. */
  readonly adopted: boolean;
  /** An operation of our own runs in the pool and explains its state. */
  readonly ours: boolean;
  /** A person paused every change of the group. */
  readonly paused: ChangeBlock | undefined;
  /** Why agent pools are unknown. */
  readonly poolsUnknown: ChangeBlock | undefined;
  readonly refusedWrite: ChangeBlock | undefined;
  readonly foreignLock: ChangeBlock | undefined;
  readonly oldData: ChangeBlock | undefined;
}

/** What the rules against increases are about. undefined: it is not so. */
export interface IncreaseRuleInput {
  readonly sizeNotOffered: IncreaseBlock | undefined;
  readonly poolNotListed: IncreaseBlock | undefined;
  readonly noEntityTag: IncreaseBlock | undefined;
  readonly paused: IncreaseBlock | undefined;
  readonly throttled: IncreaseBlock | undefined;
  readonly ownOperation: IncreaseBlock | undefined;
  readonly writesUsedUp: IncreaseBlock | undefined;
}

interface Rule<Input, Block extends GroupBlock> {
  readonly asks: Readonly<Record<RegisteredGroup['kind'], readonly RuleUse[]>>;
  readonly find: (input: Input) => Block | undefined;
}

/** A scale set is written with a condition on what the table shows. The row of a size is asked over a fresh read instead. */
const ROW = { 'scale-set': ['view', 'gate', 'doctor'], 'vms-pool': ['view', 'lock'] } as const;
/** The pool of a scale set that is written through AKS is read again, too. */
const POOL = { 'scale-set': ['view', 'gate', 'lock', 'doctor'], 'vms-pool': ['view', 'lock'] } as const;
const PROCESS = { 'scale-set': ['view', 'gate'], 'vms-pool': ['view', 'gate'] } as const;
const VIEW = { 'scale-set': ['view'], 'vms-pool': ['view'] } as const;

const AGAINST_CHANGE: readonly Rule<ChangeRuleInput, ChangeBlock>[] = [
  { asks: VIEW, find: ({ size, poolsUnknown }) => (size === undefined ? poolsUnknown : undefined) },
  { asks: ROW, find: missing },
  {
    asks: ROW,
    find: ({ row, size }) => {
      const message = (row ?? size)?.unreadable;
      return message === undefined ? undefined : { code: 'unreadable', message };
    },
  },
  {
    asks: ROW,
    find: ({ row }) => {
      if (row === undefined || row.orchestration === 'Uniform' || row.orchestration === 'Flexible') return undefined;
      return { code: 'orchestration', mode: row.orchestration };
    },
  },
  { asks: ROW, find: ({ row }) => (row?.provisioningState.toLowerCase() === 'deleting' ? { code: 'set-deleting' } : undefined) },
  { asks: POOL, find: (input) => (poolStateOf(input)?.mode?.toLowerCase() === 'hostedsystem' ? { code: 'hosted' } : undefined) },
  {
    asks: POOL,
    find: (input) => {
      const { managed = false, setting } = poolStateOf(input) ?? {};
      return managed && !input.adopted ? { code: 'managed-autoscaler', setting } : undefined;
    },
  },
  {
    asks: POOL,
    find: (input) => {
      const { power = '' } = poolStateOf(input) ?? {};
      return power === '' || power === 'running' ? undefined : { code: 'pool-power', state: power };
    },
  },
  { asks: PROCESS, find: ({ paused }) => paused },
  {
    asks: POOL,
    // There is no lock between AKS's operations and ours: the later write wins over the earlier numbers.
    find: (input) => {
      const state = poolStateOf(input)?.provisioningState;
      return state === undefined || input.ours || isSettled(state) ? undefined : { code: 'pool-state', state };
    },
  },
  { asks: PROCESS, find: ({ refusedWrite }) => refusedWrite },
  { asks: PROCESS, find: ({ foreignLock }) => foreignLock },
  { asks: VIEW, find: ({ oldData }) => oldData },
];

/** The write itself asks for what may have changed since the view, in the order in which it learns it. */
const AGAINST_INCREASE: readonly Rule<IncreaseRuleInput, IncreaseBlock>[] = [
  { asks: VIEW, find: ({ sizeNotOffered }) => sizeNotOffered },
  { asks: VIEW, find: ({ poolNotListed }) => poolNotListed },
  { asks: VIEW, find: ({ noEntityTag }) => noEntityTag },
  { asks: VIEW, find: ({ paused }) => paused },
  { asks: VIEW, find: ({ throttled }) => throttled },
  { asks: VIEW, find: ({ ownOperation }) => ownOperation },
  { asks: VIEW, find: ({ writesUsedUp }) => writesUsedUp },
];

/** Why the group may be neither increased nor reduced. undefined: nothing that this use asks is against it. */
export function blockAgainstChange(use: RuleUse, input: ChangeRuleInput): ChangeBlock | undefined {
  return firstBlock(AGAINST_CHANGE, { use, kind: input.group.kind }, input);
}

/** Why the group cannot be increased now. Removals stay possible. */
export function blockAgainstIncrease(kind: RegisteredGroup['kind'], input: IncreaseRuleInput): IncreaseBlock | undefined {
  return firstBlock(AGAINST_INCREASE, { use: 'view', kind }, input);
}

function firstBlock<Input, Block extends GroupBlock>(
  rules: readonly Rule<Input, Block>[],
  { use, kind }: { readonly use: RuleUse; readonly kind: RegisteredGroup['kind'] },
  input: Input,
): Block | undefined {
  for (const { asks, find } of rules) {
    const block = asks[kind].includes(use) ? find(input) : undefined;
    if (block !== undefined) return block;
  }
  return undefined;
}

/** The input of a use that has rows alone. */
export function inputOfRows(
  group: RegisteredGroup,
  { row, size, pool, adopted = false, ours = false }: Partial<Pick<ChangeRuleInput, 'row' | 'size' | 'pool' | 'adopted' | 'ours'>>,
): ChangeRuleInput {
  const unknown = { paused: undefined, poolsUnknown: undefined, refusedWrite: undefined, foreignLock: undefined, oldData: undefined };
  return { group, row, size, pool, adopted, ours, ...unknown };
}

function missing({ group: { id: name, kind }, row, size, pool }: ChangeRuleInput): ChangeBlock | undefined {
  if (kind === 'vms-pool') return size === undefined ? { code: 'no-such-size', name } : undefined;
  if (row !== undefined) return undefined;
  if (pool?.type.toLowerCase() === VMS_POOL_TYPE) return { code: 'sizes-not-named', name, type: pool.type };
  return pool === undefined || isSupportedType(pool) ? { code: 'no-scale-set', name } : { code: 'unsupported-pool', name, type: pool.type };
}

/** The part of an agent pool that the rules ask for, in the words of either kind. */
interface PoolState {
  readonly provisioningState: string;
  readonly mode: string | undefined;
  readonly managed: boolean;
  readonly setting: string | undefined;
  /** Folded; empty: unknown. */
  readonly power: string;
}

function poolStateOf({ group, pool, size }: ChangeRuleInput): PoolState | undefined {
  if (group.kind === 'scale-set') {
    if (pool === undefined) return undefined;
    const { provisioningState, mode, managedAutoscaler: managed, stopped } = pool;
    return { provisioningState, mode, managed, setting: 'enableAutoScaling', power: stopped ? 'stopped' : 'running' };
  }
  if (size === undefined) return undefined;
  const { provisioningState, mode, managedAutoscaler: managed, powerState } = size;
  return { provisioningState, mode, managed, setting: undefined, power: powerState.toLowerCase() };
}
