/**
 * Why a node group does not change now, as data. Plans and documents compare and count codes; people read {@link describeBlock}, the one place
 * of the sentences. Must not know which part asks.
 */

// `message` is in the words of Azure or of the part that found the reason. Times are milliseconds since the epoch.

/** Against every change: the group is frozen. */
export type ChangeBlock =
  /** Nothing in Azure has the group's name. */
  | { readonly code: 'no-scale-set'; readonly name: string }
  | { readonly code: 'no-such-size'; readonly name: string }
  /** The name is that of a whole pool of type VirtualMachines, whose sizes are groups of their own. */
  | { readonly code: 'sizes-not-named'; readonly name: string; readonly type: string }
  | { readonly code: 'unsupported-pool'; readonly name: string; readonly type: string }
  /** Agent pools are not read, since the cluster's name is not configured. */
  | { readonly code: 'pools-not-asked' }
  | { readonly code: 'pools-not-read' }
  /** Azure's answer has a form that is not understood. */
  | { readonly code: 'unreadable'; readonly message: string }
  | { readonly code: 'orchestration'; readonly mode: string }
  | { readonly code: 'set-deleting' }
  /** AKS scales its system pool itself. */
  | { readonly code: 'hosted' }
  /** `setting`: the field of the agent pool that says so. */
  | { readonly code: 'managed-autoscaler'; readonly setting: string | undefined }
  | { readonly code: 'pool-power'; readonly state: string }
  | PausedBlock
  /** An operation of AKS that is not ours runs in the pool. */
  | { readonly code: 'pool-state'; readonly state: string }
  | { readonly code: 'write-refused'; readonly untilMs: number; readonly message: string }
  /** Another autoscaler locked the cluster's resources. */
  | { readonly code: 'locked'; readonly message: string }
  | { readonly code: 'data-too-old'; readonly agent: string; readonly message: string }
  | RecordedBlock;

/** Against increases alone. */
export type IncreaseBlock =
  /** Azure does not offer the VM size to the subscription, in the zones of the group. */
  | { readonly code: 'size-not-offered'; readonly message: string }
  /** Azure chooses the zones of the group, and which zones its VM size has is not known. */
  | { readonly code: 'zones-unknown' }
  /** The group is written through AKS, which lists no agent pool for it. */
  | { readonly code: 'pool-not-listed' }
  /** Azure returns no entity tag, so no write can be conditional. */
  | { readonly code: 'no-entity-tag' }
  | PausedBlock
  | { readonly code: 'own-operation' }
  /** AKS began to bring its count in step while a write of the scale set itself waited. */
  | { readonly code: 'written-through-aks' }
  | { readonly code: 'writes-used-up' }
  | { readonly code: 'throttled'; readonly untilMs: number; readonly message: string }
  | RecordedBlock;

/** Against removals alone. `entry`: the name of an entry about pauses whose end is not known. */
export type RemovalBlock =
  | PausedBlock
  | { readonly code: 'pause-unreadable'; readonly entry: string; readonly problem: string }
  /** Removals keep out of the hours of AKS or to them, and these are not known. */
  | { readonly code: 'hours-unknown'; readonly problem: string }
  /** AKS stops what is removed, and `max` are stopped. */
  | { readonly code: 'stopped-full'; readonly max: number }
  | RecordedBlock;

/** Whether instances that failed to become nodes go all the same, and capacity that Azure could not fill. */
export function keepsNodesAlone(block: RemovalBlock): boolean {
  if (block.code === 'hours-unknown' || block.code === 'stopped-full') return true;
  return block.code !== 'pause-unreadable' && block.keeps === 'nodes';
}

/** A person asked that the group, or every group, is not changed until a time. `by` and `reason` are undefined if they are not stated. */
export interface PausedBlock {
  readonly code: 'paused';
  readonly direction: 'scale-up' | 'scale-down' | 'both';
  readonly untilMs: number;
  readonly by: string | undefined;
  readonly reason: string | undefined;
  /** See {@link keepsNodesAlone}. */
  readonly keeps?: 'nodes';
}

export type ChoiceBlock =
  /** Another cluster of the subscription met a stockout of the VM size. */
  | { readonly code: 'stockout-elsewhere'; readonly vmSize: string; readonly atMs: number }
  /** Most nodes of its zone, or of each of its zones, are not ready. The numbers are of one zone. */
  | { readonly code: 'zone-down'; readonly zone: string; readonly unready: number; readonly nodes: number }
  | RecordedBlock;

/** Azure accepts `left` more writes of the `limit` from this cluster, which sent `used` of them within a minute, and `others`. */
export type DeletionBlock =
  | { readonly code: 'write-share'; readonly left: number; readonly limit: string; readonly others: number; readonly used: number }
  | RecordedBlock;

/** From a dump, which has the sentence alone. */
interface RecordedBlock {
  readonly code: 'recorded';
  readonly text: string;
  readonly keeps?: 'nodes';
}

export type GroupBlock = ChangeBlock | IncreaseBlock | RemovalBlock | ChoiceBlock | DeletionBlock;

/** What is blocked, and by what. undefined: nothing is against it. */
export interface GroupBlocks {
  /** The group is frozen: neither increased nor reduced. */
  readonly change: ChangeBlock | undefined;
  /** It is not increased. Removals are not affected. */
  readonly increase: IncreaseBlock | undefined;
  /** Nothing of it is removed. Increases are not affected. */
  readonly removal: RemovalBlock | undefined;
  /** It grows only for pods that no other group can take. */
  readonly choice: ChoiceBlock | undefined;
  /** Deletions of its nodes wait, for a minute at most. For people only; no decision reads it. */
  readonly deletion: DeletionBlock | undefined;
}

export const NO_BLOCKS: GroupBlocks = Object.freeze({
  change: undefined,
  increase: undefined,
  removal: undefined,
  choice: undefined,
  deletion: undefined,
});

const PAUSED: Readonly<Record<PausedBlock['direction'], string>> = {
  'scale-up': 'increases are paused',
  'scale-down': 'removals are paused',
  both: 'paused',
};

type Sentences = { readonly [Code in GroupBlock['code']]: (block: Extract<GroupBlock, { readonly code: Code }>) => string };

const SENTENCES: Sentences = {
  'no-scale-set': ({ name }) => `the node resource group has no scale set named "${name}" and none of an agent pool of that name`,
  'no-such-size': ({ name }) => `no agent pool of type VirtualMachines has "${name}"`,
  'sizes-not-named': ({ name, type }) => `the agent pool "${name}" is of type ${type}: name each of its sizes as ${name}/SIZE`,
  'unsupported-pool': ({ name, type }) => `the agent pool "${name}" is of type ${type}, which the autoscaler does not support`,
  'pools-not-asked': () =>
    'agent pools are not read, since that needs the name of the cluster and its resource group (CLUSTER_NAME, ARM_CLUSTER_RESOURCE_GROUP)',
  'pools-not-read': () => 'the agent pools have not been read from AKS yet',
  unreadable: ({ message }) => message,
  orchestration: ({ mode }) => `its orchestration mode is "${mode}"; supported are Uniform and Flexible`,
  'set-deleting': () => 'it is being deleted',
  hosted: () => 'its agent pool is hosted and scaled by AKS',
  'managed-autoscaler': ({ setting }) => `AKS runs its own autoscaler over its agent pool${setting === undefined ? '' : ` (${setting})`}`,
  'pool-power': ({ state }) => `its agent pool is ${state}`,
  paused: ({ direction, untilMs, by, reason }) =>
    `${PAUSED[direction]} until ${new Date(untilMs).toISOString().replace('.000Z', 'Z')}` +
    `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`,
  'pause-unreadable': ({ entry, problem }) => `removals wait, since the pause "${entry}" cannot be read: ${problem}`,
  'hours-unknown': ({ problem }) => `removals wait, since AKS's maintenance windows are not known: ${problem}`,
  'stopped-full': ({ max }) =>
    `removals wait, since AKS stops what is removed from its pool, and ${max} ${max === 1 ? 'machine is' : 'machines are'} stopped, as many as may be ` +
    '(azure.maxStoppedInstances)',
  'pool-state': ({ state }) => `its agent pool is in state ${state}`,
  'write-refused': ({ untilMs, message }) => `Azure refused the last write; next try after ${new Date(untilMs).toISOString()}: ${message}`,
  locked: ({ message }) => message,
  'data-too-old': ({ message }) => message,
  'size-not-offered': ({ message }) => message,
  'zones-unknown': () => 'Azure chooses the zone of each of its nodes, and the zones of its VM size are not known',
  'pool-not-listed': () => 'it is written through AKS, but AKS lists no agent pool for it',
  'no-entity-tag': () =>
    'Azure returns no entity tag for it, so a write could overwrite the change of another writer; it is read again every minute',
  'written-through-aks': () => 'it is written through AKS now',
  'own-operation': () => 'an earlier operation of ours is still in progress in its agent pool',
  'writes-used-up': () =>
    'it has used up its writes (Azure allows 12 at once, then 4 a minute); the next write requests everything that is needed by then',
  throttled: ({ untilMs, message }) => `Azure throttles its writes until ${new Date(untilMs).toISOString()}: ${message}`,
  'stockout-elsewhere': ({ vmSize, atMs }) =>
    `another cluster of the subscription got no ${vmSize} at ${new Date(atMs).toISOString().slice(11, 19)} UTC; ` +
    'it grows only for pods that no other pool can take',
  'zone-down': ({ zone, unready, nodes }) =>
    `zone ${zone} is down: ${unready} of its ${nodes} nodes are not ready; it grows only for pods that no other pool can take`,
  'write-share': ({ left, limit, others, used }) =>
    `Azure accepts ${left} more writes (${limit}) from this cluster and ${others === 1 ? '1 other cluster' : `${others} other clusters`} of ` +
    `the subscription, and this one sent ${used} within a minute; it waits for a minute at most`,
  recorded: ({ text }) => text,
};

/** The reason as people read it: a part of a sentence, without a full stop. */
export function describeBlock(block: GroupBlock): string;
export function describeBlock(block: GroupBlock | undefined): string | undefined;
export function describeBlock(block: GroupBlock | undefined): string | undefined {
  return block === undefined ? undefined : (SENTENCES[block.code] as (of: GroupBlock) => string)(block);
}

/** What a person paused, by direction: the block that says so. */
export function pausesOf({ change, increase, removal }: GroupBlocks): {
  readonly up: PausedBlock | undefined;
  readonly down: Extract<RemovalBlock, { readonly code: 'paused' | 'pause-unreadable' | 'hours-unknown' }> | undefined;
} {
  const both = change?.code === 'paused' ? change : undefined;
  const down = removal !== undefined && removal.code !== 'recorded' && removal.code !== 'stopped-full' ? removal : undefined;
  return { up: both ?? (increase?.code === 'paused' ? increase : undefined), down: both ?? down };
}

/** The pauses of a group in one sentence without a full stop. undefined: nothing is paused. */
export function describePauses(blocks: GroupBlocks): string | undefined {
  const { up, down } = pausesOf(blocks);
  const texts = new Set([describeBlock(up), describeBlock(down)].filter((text) => text !== undefined));
  return texts.size === 0 ? undefined : [...texts].join('; ');
}

/** What passes while the reason stays the same: times, counts, and words of others. */
const PASSING: ReadonlySet<string> = new Set(['untilMs', 'atMs', 'message', 'left', 'used', 'unready', 'nodes']);

/** Whether both have the same reason, whatever has passed meanwhile. */
export function isSameReason(left: { readonly code: string }, right: { readonly code: string }): boolean {
  const lasting = (reason: object): readonly (readonly [string, unknown])[] =>
    Object.entries(reason).filter(([key, value]) => value !== undefined && !PASSING.has(key));
  const others = new Map<string, unknown>(lasting(right));
  const own = lasting(left);
  return own.length === others.size && own.every(([key, value]) => others.get(key) === value);
}

/** The blocks as sentences, under the names that dumps and documents have for them. */
export interface BlockTexts {
  readonly frozen?: string | undefined;
  readonly growthHeld?: string | undefined;
  readonly removalsHeld?: string | undefined;
  /** What is not removed; if absent, anything. */
  readonly removalsHeldOf?: 'nodes' | undefined;
  readonly lastResort?: string | undefined;
  readonly deletionsWait?: string | undefined;
}

export function blockTexts({ change, increase, removal, choice, deletion }: GroupBlocks): BlockTexts {
  return {
    frozen: describeBlock(change),
    growthHeld: describeBlock(increase),
    removalsHeld: describeBlock(removal),
    ...(removal !== undefined && keepsNodesAlone(removal) ? { removalsHeldOf: 'nodes' } : {}),
    lastResort: describeBlock(choice),
    deletionsWait: describeBlock(deletion),
  };
}

/** The blocks as a dump knows them: by their sentences alone. */
export function recordedBlocks({ frozen, growthHeld, removalsHeld, removalsHeldOf, lastResort, deletionsWait }: BlockTexts): GroupBlocks {
  const recorded = (text: string | undefined): RecordedBlock | undefined => (text === undefined ? undefined : { code: 'recorded', text });
  const held = recorded(removalsHeld);
  return {
    change: recorded(frozen),
    increase: recorded(growthHeld),
    removal: held === undefined || removalsHeldOf === undefined ? held : { ...held, keeps: removalsHeldOf },
    choice: recorded(lastResort),
    deletion: recorded(deletionsWait),
  };
}
