/** Connects the rooms of the Azure adapter with each other. Makes no call and decides nothing. */
import { describeBlock } from '../domain/group-blocks.ts';
import type { TokenCredential } from '@azure/core-auth';
import { phaseOf } from '../cache/agents/agent-turns.ts';
import type { NodeGroupId } from '../domain/ids.ts';
import { NO_PAUSES, type PauseReader } from '../domain/ports/pauses.ts';
import type { ForeignLock } from '../domain/ports/leadership.ts';
import type { StoredText } from '../domain/ports/stored-text.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { ArmCalls } from './arm/arm-client.ts';
import { HeldCredential } from './arm/held-credential.ts';
import type { ArmOperation } from './arm/call-list.ts';
import { OperationTracker } from './arm/operations.ts';
import { agentPoolId } from './arm/agent-pool-api.ts';
import type { AzureOptions } from './arm/options.ts';
import { GroupSchedules } from './groups/group-schedules.ts';
import type { RegisteredGroup } from './groups/registry.ts';
import { RateLimits } from './arm/rate-limits.ts';
import { foldName } from './arm/resource-ids.ts';
import { createClients, createCredential } from './arm/sdk-clients.ts';
import { OwnWrites } from './groups/own-writes.ts';
import { countOfSize, stopRuleOf } from './stops/stop-rules.ts';
import { StoppedInstances } from './groups/stopped-instances.ts';
import { WriteShares } from './groups/write-shares.ts';
import { AzureInventory } from './inventory/inventory.ts';
import { hasFailed } from './rows/scale-set.ts';
import type { SharedClusters } from '../domain/ports/shared-clusters.ts';
import type { SharedHints } from '../domain/ports/shared-hints.ts';
import type { SharedTexts } from '../domain/ports/shared-text.ts';
import { NodeEvidence } from './templates/evidence.ts';
import { PRICES_AGENT } from './rows/tables.ts';
import { cacheHooks } from './view/cache-metrics.ts';
import { ActivityLog } from './view/activity-log.ts';
import { CloudEventQueue } from './view/cloud-events.ts';
import { CloudViewBuilder } from './view/cloud-view.ts';
import { InventoryReporter } from './view/drift.ts';
import { SubscriptionHints } from './view/subscription-hints.ts';
import { FailureCounts, QuotaAccount } from './writes/failure-counts.ts';
import { AgentPoolCountSync } from './writes/sync-agent-pool-count.ts';
import { UnfilledIncreaseUndo } from './writes/undo-unfilled-increase.ts';
import { GroupLocks, type WriteDeps } from './writes/write-context.ts';
import { WriteGate } from './writes/write-gate.ts';

export interface AzureDeps {
  readonly options: AzureOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly names: ResourceNames;
  /** Freezes every group while it is held. If absent, no lock is watched. */
  readonly foreignLock?: ForeignLock;
  /** What people asked not to be changed. If absent, nothing is paused. */
  readonly pauses?: PauseReader;
  /** Where processes of one subscription share what they read. If absent, this process reads all for itself. */
  readonly sharedTexts?: SharedTexts | undefined;
  /** What the processes of one subscription report to each other. If absent, they report nothing. */
  readonly sharedHints?: SharedHints | undefined;
  /** Which clusters share. If absent, this one is alone. */
  readonly sharedClusters?: SharedClusters | undefined;
  /** Called when nothing reads any more. */
  readonly onClosed?: () => void;
  /** Where the last read prices are stored for the next process. If absent, they are not stored. */
  readonly keptPrices?: StoredText | undefined;
  /** Called right before each write. A caller that may no longer write aborts the signal of the write in it. */
  readonly beforeWrite?: () => void;
  /** Replaces the credential made from `options.credential`; for tests. */
  readonly credential?: TokenCredential;
  /** Tokens age on `clock` instead of the clock of the machine, for processes in virtual time. */
  readonly tokensFollowClock?: boolean;
}

export interface AzureRooms {
  readonly calls: ArmCalls;
  readonly rateLimits: RateLimits;
  readonly inventory: AzureInventory;
  readonly ownWrites: OwnWrites;
  readonly evidence: NodeEvidence;
  readonly views: CloudViewBuilder;
  readonly reporter: InventoryReporter;
  readonly events: CloudEventQueue;
  readonly failures: FailureCounts;
  readonly quotaAccount: QuotaAccount;
  readonly gate: WriteGate;
  readonly schedules: GroupSchedules;
  readonly writes: WriteDeps;
  readonly hints: SubscriptionHints;
  readonly undo: UnfilledIncreaseUndo;
  readonly countSync: AgentPoolCountSync;
  /** Ends everything that goes on after an operation has ended. */
  readonly closing: AbortController;
}

/** Kinds of reads that decisions do not need if the price list is read by default. */
const ONLY_SHOWN: ReadonlySet<string> = new Set([PRICES_AGENT]);

export function wireAzure(deps: AzureDeps): AzureRooms {
  const { options, clock, random, log, metrics, names, foreignLock } = deps;
  const pauses = deps.pauses ?? { current: () => NO_PAUSES };
  const closing = new AbortController();
  const rateLimits = new RateLimits(clock, metrics.arm);
  const ownWrites = new OwnWrites();
  const credential = credentialOf(deps);
  const cluster = `${options.subscriptionId}/${options.nodeResourceGroup}`;
  const phase = (name: string): number => phaseOf(cluster, name);
  const shares = createShares(deps, phase);
  const calls = createCalls(deps, { rateLimits, ownWrites, credential, shares });
  const clients = createClients(options, credential, calls);
  const shared = { options, clients, calls, clock, random, log, metrics };
  const { sharedTexts, keptPrices } = deps;
  const inventory = new AzureInventory({
    ...shared,
    ownWrites,
    rateLimits,
    shared: sharedTexts,
    keptPrices,
    hooks: cacheHooks(metrics.cache, log, clock, options.retailPrices?.byDefault === true ? ONLY_SHOWN : undefined),
  });
  const reporter = new InventoryReporter({ store: inventory, log, metrics, clock });
  rateLimits.onLow((family, low) => inventory.scheduler.stretch(family, low));
  const holdReads = (family: string, untilMs: number): void => inventory.scheduler.hold(family, untilMs);
  const hints = new SubscriptionHints({ hints: deps.sharedHints, clock, holdReads, phase });
  rateLimits.onThrottled((family, untilMs, isOwn) => {
    holdReads(family, untilMs);
    // guard: a limit of our identity alone is not reported to other clusters
    if (!isOwn) hints.noteThrottled(family, untilMs);
  });
  rateLimits.onRemaining((family, { remaining: left, largest: of }) => {
    hints.noteRemaining(family, { left, of });
    shares.noteRemaining(family, { left, of });
  });
  const events = new CloudEventQueue(log);
  const failures = new FailureCounts(metrics.scaleUp.failures, clock);
  const quotaAccount = new QuotaAccount({ inventory, failures, clock });
  const evidence = new NodeEvidence(names, metrics.templates);
  const lockedBecause = (): string | undefined => foreignLock?.heldBecause();
  const schedules = new GroupSchedules(inventory);
  const stopped = new StoppedInstances({
    clock,
    order: inventory.order,
    instances: inventory.instances,
    ruleOf: (key) => {
      const group = inventory.registration().groups.get(key);
      return group === undefined ? undefined : stopRuleOf(group, inventory, options);
    },
    sizeOf: (key) => countOfSize(inventory, key),
    readAgain: (group) => void inventory.reads.want({ what: 'instances', group }),
  });
  const views = new CloudViewBuilder({
    store: inventory,
    backoffs: ownWrites.backoffs,
    options,
    names,
    lockedBecause,
    pauses,
    schedules,
    evidence,
    hints,
    shares,
    stopped,
  });
  const noteSuccess = (id: NodeGroupId): void => {
    const row = inventory.scaleSets.get(inventory.registration().byId.get(id)?.key ?? '')?.value;
    if (row !== undefined) hints.noteSuccess(row);
  };
  const gate = new WriteGate({ inventory, ownWrites, foreignLock, pauses, schedules, clock, log });
  const writes: WriteDeps = {
    ...shared,
    inventory,
    ownWrites,
    tracker: new OperationTracker(shared),
    locks: new GroupLocks(),
    shares,
    stopped,
    pausedBecause: (group, write) => gate.pausedBecause(group, write),
    limitsOf: (group) => schedules.limitsOf(group, clock.now()),
    recordEvent: (event) => {
      quotaAccount.recordEvent(event);
      if (event.kind === 'increase-failed') hints.noteFailure(event.error);
      if (event.kind === 'increase-succeeded') noteSuccess(event.group);
      events.push(event);
    },
    undoUnfilled: (group, ownIncrease) => undo.begin(group, ownIncrease),
    closing: closing.signal,
  };
  const undo = new UnfilledIncreaseUndo({ writes, writable: ({ id }) => gate.writableGroup(id, 'give-back') });
  const countSync = new AgentPoolCountSync({ writes, writable: ({ id }) => gate.writableGroup(id, 'count') });
  const activityLog = options.activityLog
    ? new ActivityLog({ ...shared, credential, add: (event) => events.add(event), closing: closing.signal })
    : undefined;
  reportExternalChanges({ inventory, options, events, clock, log, metrics, activityLog });
  // guard: a failed instance of an increase wakes the loop
  wakeOnFailedInstances(inventory, events);
  return {
    calls,
    rateLimits,
    inventory,
    ownWrites,
    evidence,
    views,
    reporter,
    events,
    failures,
    quotaAccount,
    gate,
    schedules,
    writes,
    hints,
    undo,
    countSync,
    closing,
  };
}

function credentialOf({ options, clock, log, credential, tokensFollowClock: ageOnClock = false }: AzureDeps): HeldCredential {
  return new HeldCredential({ make: () => credential ?? createCredential(options), clock, log, ageOnClock });
}

/** Writes that Azure charges to the scale set. */
const SET_WRITES: ReadonlySet<ArmOperation> = new Set([
  'putScaleSet',
  'deleteInstances',
  'deallocateInstances',
  'startInstances',
  'reimageInstance',
]);

function createShares({ clock, log, metrics, sharedHints, sharedClusters }: AzureDeps, phase: (name: string) => number): WriteShares {
  return new WriteShares({
    clock,
    clusters: () => new Set(sharedClusters?.present().map(({ cluster }) => cluster)).size,
    phase,
    reported: (limit) => sharedHints?.reported('remaining').find(({ key }) => key === limit)?.count,
    onPostponed: ({ operation, resource }, reason) => {
      metrics.arm.writesPostponed.inc({ operation });
      log.info(
        { operation, resource, reason: describeBlock(reason) },
        'Write postponed, since few are left for all clusters of the subscription',
      );
    },
  });
}

interface CallPartners {
  readonly rateLimits: RateLimits;
  readonly shares: WriteShares;
  readonly ownWrites: OwnWrites;
  readonly credential: HeldCredential;
}

function createCalls({ options, clock, random, metrics, beforeWrite }: AzureDeps, partners: CallPartners): ArmCalls {
  const { rateLimits, credential, shares, ownWrites } = partners;
  return new ArmCalls({
    credential,
    clock,
    metrics: metrics.arm,
    rateLimits,
    endpoint: options.armEndpoint,
    timeoutMs: options.requestTimeoutMs,
    maxConcurrent: options.maxConcurrentCalls,
    rateLimit: options.rateLimit,
    readRetries: options.readRetries,
    random,
    beforeWrite,
    // A call that is held back, or gets no access token, uses up nothing.
    onWrite: (call) => {
      shares.noteWrite({ operation: call.operation, resource: foldName(call.resource) });
      if (SET_WRITES.has(call.operation)) ownWrites.noteScaleSetWrite(foldName(call.resource), clock.monotonic());
    },
  });
}

interface ExternalChangeDeps {
  readonly inventory: AzureInventory;
  readonly options: AzureOptions;
  readonly events: CloudEventQueue;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** undefined: the names of other writers are not looked up. */
  readonly activityLog: ActivityLog | undefined;
}

/** Sizes that another writer changed become events, log lines and a metric. */
function reportExternalChanges({ inventory, options, events, clock, log, metrics, activityLog }: ExternalChangeDeps): void {
  for (const table of [inventory.scaleSets, inventory.vmsPools.sizes]) {
    table.subscribe((event) => {
      const group = event.kind === 'external-change' ? inventory.registration().groups.get(event.key) : undefined;
      if (event.kind !== 'external-change' || group === undefined) return;
      const { from, to } = event;
      metrics.cache.externalChanges.inc({ node_group: group.id });
      log.info({ nodeGroup: group.id, from, to }, 'Capacity changed by another writer');
      const change = { group: group.id, from, to, atMs: clock.now() };
      events.push({ kind: 'external-change', ...change });
      const armId = writtenResource(inventory, options, group);
      if (armId !== undefined) activityLog?.note(armId, change);
    });
  }
}

/** The resource that a writer of this group's size writes. undefined: unknown. */
function writtenResource(inventory: AzureInventory, options: AzureOptions, { key, kind }: RegisteredGroup): string | undefined {
  if (kind === 'scale-set') return inventory.scaleSets.get(key)?.value.armId || undefined;
  const pool = inventory.vmsPools.sizes.get(key)?.value.pool;
  return pool === undefined ? undefined : agentPoolId(options, pool);
}

/** A failed instance of an increase frees its pods for another group, so the loop must not wait for its next scan. */
function wakeOnFailedInstances(inventory: AzureInventory, events: CloudEventQueue): void {
  inventory.instances.subscribe((event) => {
    if (event.kind !== 'changed' || event.after === undefined) return;
    const { value } = event.after;
    if (hasFailed(value) && !(event.before !== undefined && hasFailed(event.before.value)) && inventory.increases.areExpected(value.group))
      events.wake();
  });
}
