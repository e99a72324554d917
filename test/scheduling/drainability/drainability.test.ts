import * as fc from 'fast-check';
import { PROTECTED } from '../../../src/domain/annotations.ts';
import { describe, expect, it } from 'vitest';
import { matchesSelector } from '../../../src/domain/labels.ts';
import { checkNodeDrain, checkPodDrain } from '../../../src/scheduling/drainability/drainability.ts';
import { drainContext, drainRulesOf } from '../../../src/scheduling/drainability/drain-rule.ts';
import { aBudget, aCluster, aPod, START_MS, type PodOptions } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import type { ScaleDownPolicy } from '../../../src/domain/policy.ts';
import type { DisruptionBudget, OwnerState } from '../../../src/domain/workloads.ts';

const MINUTE = 60_000;
const STRICT = { skipNodesWithSystemPods: true, skipNodesWithLocalStorage: true, skipNodesWithCustomControllerPods: true };
const LAX = { skipNodesWithSystemPods: false, skipNodesWithLocalStorage: false, skipNodesWithCustomControllerPods: false };
const NO_BUDGET_LEFT = aBudget({ name: 'full', disruptionsAllowed: 0, expectedPods: 3, desiredHealthy: 2 });
const NEVER = aBudget({ name: 'never', disruptionsAllowed: 0, expectedPods: 3, desiredHealthy: 3 });
const DAEMON_POD: PodOptions = { daemonSet: true, controller: { kind: 'DaemonSet', name: 'agent', uid: 'ds' } };
const daemonOf = (apiVersion: string): PodOptions => ({
  daemonSet: true,
  controller: { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion },
});
const KRUISE_POD = daemonOf('apps.kruise.io/v1alpha1');
const VOLUME: PodOptions = { localVolumes: [{ name: 'scratch', kind: 'emptyDir' }] };

interface Row {
  readonly name: string;
  readonly pod: PodOptions;
  readonly policy?: Partial<ScaleDownPolicy>;
  readonly budgets?: readonly DisruptionBudget[];
  readonly daemonSets?: readonly string[];
  readonly owners?: Readonly<Record<string, OwnerState>>;
  readonly verdict: string;
}

const system = (minutes: number, rest: PodOptions = {}): PodOptions => ({
  namespace: 'kube-system',
  createdAtMs: START_MS - minutes * MINUTE,
  ...rest,
});

const until = (protectedUntilMs: number | undefined): PodOptions => ({ protection: { protectedBy: '4h', protectedUntilMs } });

const ROWS: readonly Row[] = [
  { name: 'a replicated pod moves', pod: {}, verdict: 'move' },
  {
    name: 'a mirror pod is skipped, whatever else it is',
    pod: { mirror: true, controller: undefined, safeToEvict: 'false' },
    verdict: 'skip',
  },
  {
    name: 'terminating beyond grace and 30 s is skipped',
    pod: { deletionAtMs: START_MS - 60_001, terminationGraceMs: 30_000, controller: undefined },
    verdict: 'skip',
  },
  {
    name: 'terminating for exactly grace and 30 s still counts',
    pod: { deletionAtMs: START_MS - 60_000, terminationGraceMs: 30_000, controller: undefined },
    verdict: 'NotReplicated',
  },
  { name: 'a DaemonSet that is gone blocks', pod: DAEMON_POD, verdict: 'ControllerNotFound' },
  { name: 'a DaemonSet that exists', pod: DAEMON_POD, daemonSets: ['default/agent'], verdict: 'daemon-set' },
  { name: 'of another namespace is another one', pod: DAEMON_POD, daemonSets: ['other/agent'], verdict: 'ControllerNotFound' },
  {
    name: 'a ReplicaSet that is gone blocks, whatever its pod says',
    pod: { safeToEvict: 'true', controller: { kind: 'ReplicaSet', name: 'web', uid: 'rs' } },
    owners: { 'ReplicaSet default/web': { exists: false } },
    verdict: 'ControllerNotFound',
  },
  {
    name: 'a DaemonSet of another API group is not looked up among the built-in ones',
    pod: KRUISE_POD,
    verdict: 'daemon-set',
  },
  {
    name: 'one of another API group is not the built-in one of its name',
    pod: KRUISE_POD,
    daemonSets: ['default/agent'],
    verdict: 'daemon-set',
  },
  { name: 'a DaemonSet of an earlier apps version is', pod: daemonOf('apps/v1beta2'), verdict: 'ControllerNotFound' },
  {
    name: 'a bare pod with the daemonset-pod annotation is a daemon pod',
    pod: { daemonSet: true, controller: undefined },
    verdict: 'daemon-set',
  },
  {
    name: 'a StatefulSet of another API is not looked up as the built-in one of its name',
    pod: { controller: { kind: 'StatefulSet', name: 'db', uid: 'x', apiVersion: 'apps.kruise.io/v1beta1' } },
    owners: { 'StatefulSet default/db': { exists: false } },
    verdict: 'move',
  },
  {
    name: 'a StatefulSet of another API moves without the flag',
    pod: { controller: { kind: 'StatefulSet', name: 'db', uid: 'x', apiVersion: 'apps.kruise.io/v1beta1' } },
    owners: { 'StatefulSet default/db': { exists: false } },
    policy: LAX,
    verdict: 'move',
  },
  {
    name: 'a Job of another API recreates its pods, too',
    pod: { controller: { kind: 'Job', name: 'train', uid: 'x', apiVersion: 'batch.volcano.sh/v1alpha1' } },
    verdict: 'move',
  },
  {
    name: 'a ReplicaSet that belongs to an argoproj.io Rollout is a built-in one',
    pod: { controller: { kind: 'ReplicaSet', name: 'web', uid: 'rs', apiVersion: 'apps/v1' } },
    verdict: 'move',
  },
  {
    name: 'a Job that is gone blocks',
    pod: { controller: { kind: 'Job', name: 'load', uid: 'j', apiVersion: 'batch/v1' } },
    owners: { 'Job default/load': { exists: false } },
    verdict: 'ControllerNotFound',
  },
  {
    name: 'a ReplicationController below the minimum of replicas blocks',
    pod: { controller: { kind: 'ReplicationController', name: 'old', uid: 'rc', apiVersion: 'v1' } },
    owners: { 'ReplicationController default/old': { exists: true, desired: 1 } },
    policy: { minReplicaCount: 2 },
    verdict: 'MinReplicasReached',
  },
  {
    name: 'at the minimum of replicas it moves',
    pod: { controller: { kind: 'ReplicaSet', name: 'web', uid: 'rs' } },
    owners: { 'ReplicaSet default/web': { exists: true, desired: 2 } },
    policy: { minReplicaCount: 2 },
    verdict: 'move',
  },
  {
    name: 'a StatefulSet has no minimum of replicas',
    pod: { controller: { kind: 'StatefulSet', name: 'db', uid: 'db' } },
    owners: { 'StatefulSet default/db': { exists: true, desired: undefined } },
    policy: { minReplicaCount: 2 },
    verdict: 'move',
  },
  {
    name: 'owners do not count with the flag off',
    pod: { controller: { kind: 'ReplicaSet', name: 'web', uid: 'rs' } },
    owners: { 'ReplicaSet default/web': { exists: false } },
    policy: LAX,
    verdict: 'move',
  },
  { name: 'not asked with the flag off', pod: DAEMON_POD, policy: LAX, verdict: 'daemon-set' },
  {
    name: 'safe-to-evict true passes every rule below, an exhausted budget too',
    pod: { safeToEvict: 'true', controller: undefined, ...VOLUME },
    budgets: [NO_BUDGET_LEFT],
    verdict: 'move',
  },
  {
    name: 'safe-to-evict true does not pass a budget that can never allow a disruption',
    pod: { safeToEvict: 'true' },
    budgets: [NEVER],
    verdict: 'NotEnoughPdb',
  },
  {
    name: 'safe-to-evict true does not pass two budgets, which the Eviction API refuses',
    pod: { safeToEvict: 'true' },
    budgets: [aBudget(), aBudget({ name: 'second' })],
    verdict: 'NotEnoughPdb',
  },
  { name: 'Failed moves', pod: { phase: 'Failed', controller: undefined }, verdict: 'move' },
  {
    name: 'Succeeded with OnFailure moves',
    pod: { phase: 'Succeeded', restartPolicy: 'OnFailure', controller: undefined },
    verdict: 'move',
  },
  { name: 'Succeeded but restarted Always does not', pod: { phase: 'Succeeded', controller: undefined }, verdict: 'NotReplicated' },
  { name: 'on-completion waits', pod: { safeToEvict: 'on-completion', controller: undefined }, verdict: 'wait-for-completion' },
  {
    name: 'a bare pod of a priority below the cutoff',
    pod: { controller: undefined, shape: { priority: -11 } },
    verdict: 'expendable',
  },
  { name: 'at the cutoff it counts', pod: { controller: undefined, shape: { priority: -10 } }, verdict: 'NotReplicated' },
  {
    name: 'its safe-to-evict false holds',
    pod: { safeToEvict: 'false', shape: { priority: -11 } },
    verdict: 'NotSafeToEvictAnnotation',
  },
  { name: 'a bare pod blocks', pod: { controller: undefined }, policy: LAX, verdict: 'NotReplicated' },
  {
    name: 'a custom controller blocks with the flag',
    pod: { controller: { kind: 'Clone', name: 'c', uid: 'c' } },
    verdict: 'NotReplicated',
  },
  { name: 'and not without', pod: { controller: { kind: 'Clone', name: 'c', uid: 'c' } }, policy: LAX, verdict: 'move' },
  { name: 'a young kube-system pod blocks', pod: system(10), verdict: 'UnmovableKubeSystemPod' },
  { name: 'an old one does not', pod: system(61), verdict: 'move' },
  {
    name: 'one with a permissive budget does not',
    pod: system(10),
    budgets: [aBudget({ namespace: 'kube-system' })],
    verdict: 'move',
  },
  { name: 'of 10 min, where 5 min hold', pod: system(10), policy: { systemPodBlocksForMs: 300_000 }, verdict: 'move' },
  { name: 'flag off', pod: system(10), policy: LAX, verdict: 'move' },
  {
    name: 'safe-to-evict false holds in an old kube-system pod too',
    pod: system(61, { safeToEvict: 'false' }),
    verdict: 'NotSafeToEvictAnnotation',
  },
  { name: 'local storage holds in an old kube-system pod too', pod: system(61, VOLUME), verdict: 'LocalStorageRequested' },
  { name: 'safe-to-evict false blocks', pod: { safeToEvict: 'false' }, policy: LAX, verdict: 'NotSafeToEvictAnnotation' },
  { name: 'do-not-disrupt blocks', pod: { protection: PROTECTED }, policy: LAX, verdict: 'DoNotDisruptAnnotation' },
  { name: 'do-not-disrupt blocks until its end', pod: until(START_MS + 1), verdict: 'DoNotDisruptAnnotation' },
  { name: 'do-not-disrupt that has ended', pod: until(START_MS), verdict: 'move' },
  { name: 'do-not-disrupt of a pod that has not started', pod: until(undefined), verdict: 'DoNotDisruptAnnotation' },
  {
    name: 'a worthless pod under do-not-disrupt',
    pod: { ...until(START_MS + 1), shape: { priority: -11 } },
    verdict: 'DoNotDisruptAnnotation',
  },
  {
    name: 'a worthless pod whose do-not-disrupt has ended',
    pod: { ...until(START_MS), shape: { priority: -11 } },
    verdict: 'expendable',
  },
  { name: 'hostPath blocks', pod: { localVolumes: [{ name: 'h', kind: 'hostPath' }] }, verdict: 'LocalStorageRequested' },
  { name: 'flag off', pod: { localVolumes: [{ name: 'h', kind: 'hostPath' }] }, policy: LAX, verdict: 'move' },
  { name: 'a named volume is no loss', pod: { ...VOLUME, safeToEvictVolumes: ['scratch'] }, verdict: 'move' },
  { name: 'naming another volume does not help', pod: { ...VOLUME, safeToEvictVolumes: ['other'] }, verdict: 'LocalStorageRequested' },
  { name: 'no disruption allowed', pod: {}, budgets: [NO_BUDGET_LEFT], verdict: 'NotEnoughPdb passing' },
  { name: 'a budget that asks for every pod never allows any', pod: {}, budgets: [NEVER], verdict: 'NotEnoughPdb' },
  {
    name: 'two budgets: the API evicts no such pod, whatever they allow',
    pod: {},
    budgets: [aBudget(), aBudget()],
    verdict: 'NotEnoughPdb',
  },
  { name: 'of another namespace', pod: {}, budgets: [aBudget({ namespace: 'other', disruptionsAllowed: 0 })], verdict: 'move' },
  { name: 'a budget without a selector', pod: {}, budgets: [aBudget({ selector: undefined, disruptionsAllowed: 0 })], verdict: 'move' },
];

function contextOf(row: Pick<Row, 'budgets' | 'daemonSets' | 'policy' | 'owners'>) {
  const shape = aPod().shape;
  const daemonSets = (row.daemonSets ?? []).map((text) => {
    const [namespace = '', name = ''] = text.split('/');
    return { namespace, name, uid: text, shape };
  });
  const cluster = {
    ...aCluster({ disruptionBudgets: row.budgets ?? [], daemonSets }),
    owners: new Map(Object.entries(row.owners ?? {})),
  };
  return drainContext(cluster, drainRulesOf(aPolicy({ scaleDown: { ...STRICT, ...row.policy } })), START_MS);
}

describe('drain rules', () => {
  it.each(ROWS)('$name: $verdict', (row) => {
    const verdict = checkPodDrain(aPod({ nodeName: 'a', ...row.pod }), contextOf(row));
    const text = verdict.kind === 'block' ? `${verdict.reason}${verdict.passing ? ' passing' : ''}` : verdict.kind;
    expect(text).toBe(row.verdict);
  });

  it('finds the budgets that select a pod as the API does, whatever their selectors', () => {
    const values = fc.uniqueArray(fc.constantFrom('web', 'db'), { minLength: 1, maxLength: 2 });
    const requirement = fc.record({ key: fc.constantFrom('app', 'tier'), operator: fc.constantFrom('In', 'NotIn'), values });
    const presence = fc.record({
      key: fc.constantFrom('app', 'tier'),
      operator: fc.constantFrom('Exists', 'DoesNotExist'),
      values: fc.constant([]),
    });
    const selectors = fc.array(fc.oneof(requirement, presence), { maxLength: 3 }).map((requirements) => ({ requirements }));
    const labels = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('web', 'db', 'cache'));
    const namespaces = fc.constantFrom('default', 'other');
    fc.assert(
      fc.property(fc.array(fc.tuple(selectors, namespaces), { maxLength: 6 }), labels, (all, own) => {
        const budgets = all.map(([selector, namespace], at) => aBudget({ name: `b${at}`, namespace, selector }));
        const pod = aPod({ shape: { labels: own } });
        const selecting = budgets.filter(({ namespace, selector }) => namespace === 'default' && matchesSelector(selector!, own));
        expect(contextOf({ budgets }).budgetsOf(pod)).toEqual(selecting);
      }),
      { seed: 27, numRuns: 300 },
    );
  });

  it('names the kind of a custom controller', () => {
    const detail = (pod: PodOptions) => checkNodeDrain([aPod({ nodeName: 'n', ...pod })], contextOf({})).blocker?.detail;
    expect(detail({ controller: { kind: 'Clone', name: 'c', uid: 'c' } })).toBe('controller of kind Clone');
  });

  it('names a lasting blocker before a passing one, and of equals the first by name', () => {
    const labels = { app: 'db' };
    const selector = { requirements: [{ key: 'app', operator: 'In', values: ['db'] }] } as const;
    const context = contextOf({ budgets: [{ ...NO_BUDGET_LEFT, selector }] });
    const guarded = aPod({ name: 'a', nodeName: 'n', shape: { labels } });
    const bare = aPod({ name: 'z', nodeName: 'n', controller: undefined });
    const other = aPod({ name: 'y', nodeName: 'n', controller: undefined });
    const both = checkNodeDrain([guarded, bare, other], context);
    expect(both.blocker).toMatchObject({ pod: 'default/y', reason: 'NotReplicated' });
    expect(both.passing).toBe(false);
    expect(checkNodeDrain([other, bare, guarded], context)).toEqual(both);
    expect(checkNodeDrain([guarded], context)).toMatchObject({ passing: true, blocker: { reason: 'NotEnoughPdb', pod: 'default/a' } });
  });

  it('sorts the pods of a node into movable, daemons, waiting and none of these', () => {
    const moving = aPod({ nodeName: 'n' });
    const waiting = aPod({ nodeName: 'n', safeToEvict: 'on-completion' });
    const daemon = aPod({ nodeName: 'n', ...DAEMON_POD });
    const worthless = aPod({ nodeName: 'n', controller: undefined, shape: { priority: -11 } });
    const pods = [moving, waiting, aPod({ nodeName: 'n', mirror: true }), daemon, worthless];
    const drain = checkNodeDrain(pods, contextOf({ policy: LAX }));
    expect(drain).toEqual({
      movable: [moving],
      daemons: [daemon],
      expendables: [worthless],
      waiting: [waiting],
      blocker: undefined,
      passing: false,
    });
  });
});
