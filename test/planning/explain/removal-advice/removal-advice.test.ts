/** What frees a node, by what keeps it. Every row is followed by hand, and the node goes. */
import { PROTECTED } from '../../../../src/domain/annotations.ts';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../../../../src/domain/observation.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import type { Node } from '../../../../src/domain/node.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import type { RemovalAdvice } from '../../../../src/planning/explain/advice/fix.ts';
import { RemovalAdviser } from '../../../../src/planning/explain/removal-advice/removal-advice.ts';
import { aBudget, aNode, anInstance, aPod, resourceNames, type PodOptions } from '../../../support/builders.ts';
import { aPolicy } from '../../../support/policy.ts';
import type { OwnerStates } from '../../../../src/domain/workloads.ts';
import { nodes, observe, plan, pool, type World as ScaleDownWorld } from '../../scale-down/world.ts';
import { REMOVALS_ALONE } from '../../../../src/planning/scale-down/plan-context.ts';
import { aState } from '../../../support/state.ts';

interface World extends ScaleDownWorld {
  readonly owners?: OwnerStates;
}

function observeWithOwners(of: World): Observation {
  const observation = observe(of);
  return of.owners === undefined ? observation : { ...observation, cluster: { ...observation.cluster, owners: of.owners } };
}

const HASH = 'abc12';
const API = { kind: 'ReplicaSet', name: `api-${HASH}`, uid: 'rs-api' };

/** A pod of Deployment payments/api. */
function api(nodeName: string, name: string, rest: PodOptions = {}): Pod {
  const shape = { labels: { app: 'api', 'pod-template-hash': HASH }, ...rest.shape };
  return aPod({ name, namespace: 'payments', nodeName, cpu: '500m', controller: API, ...rest, shape });
}

const SELECTOR = { requirements: [{ key: 'app', operator: 'In' as const, values: ['api'] }] };
const strict = (pods: number) =>
  aBudget({
    namespace: 'payments',
    name: 'api',
    selector: SELECTOR,
    disruptionsAllowed: 0,
    expectedPods: pods,
    currentHealthy: pods,
    desiredHealthy: pods,
    demand: { kind: 'minAvailable', value: pods },
  });

/** `p-0` ... with a pod of 500m each, and the roomy `q-0`, which nothing removes. */
function world(part: Partial<World> & { readonly pods: readonly Pod[] }, names: readonly string[] = ['p-0']): World {
  const q = pool('q', 1, { minSize: 1 });
  return { groups: [pool('p', names.length, { vmSize: 'Standard_D4s_v5' }), q], nodes: [...nodes(...names), ...nodes('q-0')], ...part };
}

function advise(of: World, node = 'p-0'): RemovalAdvice {
  const input = {
    observation: observeWithOwners(of),
    state: aState(of.state),
    policy: of.policy ?? aPolicy({ scaleUp: { prices: { standard_d4s_v5: 0.5 } } }),
    names: resourceNames,
    fullGroups: of.fullGroups ?? new Map(),
  };
  const advice = finishAtOnce(new RemovalAdviser(input).advise(node));
  if (advice === undefined) throw new Error(`${node} is of no group`);
  return advice;
}

const commandsOf = ({ fix }: RemovalAdvice) =>
  (fix?.steps ?? []).flatMap(({ command, patch }) => [command, patch]).filter((text) => text !== undefined);

describe('what frees a node', () => {
  it('is one more replica, where a budget needs them all; every node of the workload is counted', () => {
    const three = ['p-0', 'p-1', 'p-2'];
    const advice = advise(world({ pods: three.map((name) => api(name, `api-${name}`)), budgets: [strict(3)] }, three));
    expect(advice.fix).toMatchObject({
      text: 'run 4 replicas of payments/api',
      proof: { nodes: 3, groups: ['p'], cores: 12, memoryGib: 48, perHour: 1.5 },
    });
    expect(commandsOf(advice)).toEqual(['kubectl -n payments scale deployment api --replicas=4']);
  });

  const local = { localVolumes: [{ name: 'cache', kind: 'emptyDir' as const }] };
  const blockingLocal = aPolicy({ scaleDown: { skipNodesWithLocalStorage: true } });
  const undemanding = { ...strict(1), demand: undefined };
  const custom = { kind: 'Rollout', apiVersion: 'argoproj.io/v1alpha1', name: 'api', uid: 'x' };
  const blockingCustom = aPolicy({ scaleDown: { skipNodesWithCustomControllerPods: true } });
  const disabled = (name: string, part: Partial<Node> = {}) => aNode({ name, scaleDownDisabled: true, ...part });
  const apart = { topologyKey: 'kubernetes.io/hostname', selector: SELECTOR, namespaces: ['payments'], namespaceSelector: undefined };

  it.each<[string, World, string, readonly string[]]>([
    [
      'a replica more where the budget demands a percentage',
      world({ pods: [api('p-0', 'a'), api('q-0', 'b')], budgets: [{ ...strict(2), demand: { kind: 'minAvailable', value: '60%' } }] }),
      'run 3 replicas of payments/api',
      ['kubectl -n payments scale deployment api --replicas=3'],
    ],
    [
      'the budget itself, where no number of replicas satisfies it',
      world({
        pods: [api('p-0', 'a')],
        budgets: [{ ...strict(1), neverAllows: 'maxUnavailable is 0', demand: { kind: 'maxUnavailable', value: 0 } }],
      }),
      'let PodDisruptionBudget payments/api allow 1 unavailable pod',
      [`kubectl -n payments patch poddisruptionbudget api --type=merge -p '{"spec":{"maxUnavailable":1}}'`],
    ],
    [
      'the budget itself by one pod, as a number, for pods that are of no workload with replicas',
      world({ pods: [api('p-0', 'a', { controller: custom }), api('q-0', 'b', { controller: custom })], budgets: [strict(2)] }),
      'let PodDisruptionBudget payments/api allow 1 unavailable pod',
      [`kubectl -n payments patch poddisruptionbudget api --type=merge -p '{"spec":{"minAvailable":1}}'`],
    ],
    [
      'the budget itself by one pod, as a percentage',
      world({
        pods: [api('p-0', 'a', { controller: custom }), api('q-0', 'b', { controller: custom })],
        budgets: [{ ...strict(2), demand: { kind: 'minAvailable', value: '60%' } }],
      }),
      'let PodDisruptionBudget payments/api allow 1 unavailable pod',
      [`kubectl -n payments patch poddisruptionbudget api --type=merge -p '{"spec":{"minAvailable":"50%"}}'`],
    ],
    [
      'a budget whose demand is unknown',
      world({ pods: [api('p-0', 'a', { controller: custom })], budgets: [undemanding] }),
      'let PodDisruptionBudget payments/api allow 1 unavailable pod',
      [`kubectl -n payments patch poddisruptionbudget api --type=merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'`],
    ],
    [
      'one budget fewer, where two select the pod',
      world({
        pods: [api('p-0', 'a')],
        budgets: [
          { ...strict(1), disruptionsAllowed: 1 },
          { ...strict(1), name: 'other', disruptionsAllowed: 1 },
        ],
      }),
      'delete PodDisruptionBudget payments/api',
      ['kubectl -n payments delete poddisruptionbudget api'],
    ],
    [
      'the annotation of its pods removed',
      world({ pods: [api('p-0', 'a', { safeToEvict: 'false' })] }),
      'remove the annotation cluster-autoscaler.kubernetes.io/safe-to-evict from the pods of Deployment payments/api',
      [
        `kubectl -n payments annotate pods -l pod-template-hash=${HASH} cluster-autoscaler.kubernetes.io/safe-to-evict-`,
        'metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: null}}',
      ],
    ],
    [
      "Karpenter's annotation removed, and a replica more",
      world({ pods: [api('p-0', 'a', { protection: PROTECTED })], budgets: [strict(1)] }),
      'remove the annotation karpenter.sh/do-not-disrupt from the pods of Deployment payments/api, and run 2 replicas of payments/api',
      [
        `kubectl -n payments annotate pods -l pod-template-hash=${HASH} karpenter.sh/do-not-disrupt-`,
        'metadata: {annotations: {karpenter.sh/do-not-disrupt: null}}',
        'kubectl -n payments scale deployment api --replicas=2',
      ],
    ],
    [
      'its local volumes listed as safe to lose',
      world({ pods: [api('p-0', 'a', local)], policy: blockingLocal }),
      'annotate the pods of Deployment payments/api with cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "cache"',
      [
        `kubectl -n payments annotate pods -l pod-template-hash=${HASH} cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes=cache --overwrite`,
        'metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "cache"}}',
      ],
    ],
    [
      'a controller for a bare pod',
      world({ pods: [aPod({ name: 'pet', nodeName: 'p-0', controller: undefined })] }),
      'run pod default/pet as a Deployment, StatefulSet or Job',
      ['kubectl -n default delete pod pet'],
    ],
    [
      'consent for the pods of a custom controller',
      world({ pods: [api('p-0', 'a', { controller: custom, shape: { labels: { app: 'api' } } })], policy: blockingCustom }),
      'annotate the pods of Rollout payments/api with cluster-autoscaler.kubernetes.io/safe-to-evict: "true"',
      [
        'kubectl -n payments annotate pods a cluster-autoscaler.kubernetes.io/safe-to-evict=true --overwrite',
        'metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}}',
      ],
    ],
    [
      'a budget for a pod of the system',
      world({ pods: [aPod({ name: 'dns', namespace: 'kube-system', nodeName: 'p-0', shape: { labels: { app: 'dns' } } })] }),
      'add a PodDisruptionBudget that allows 1 unavailable pod of kube-system/web',
      ['kubectl -n kube-system create poddisruptionbudget web --selector=app=dns --max-unavailable=1'],
    ],
    [
      'a smaller minimum, where the configuration sets it',
      { ...world({ pods: [] }), groups: [pool('p', 1, { minSize: 1, maxFrom: 'settings' }), pool('q', 1, { minSize: 1 })] },
      'lower the minimum of p from 1 to 0',
      ['nodeGroups: [{name: p, min: 0, max: 100}]'],
    ],
    [
      'a higher threshold',
      world({ pods: [api('p-0', 'a', { cpu: '2500m' })] }),
      'raise the utilization threshold of p from 50 % to 63 %',
      ['nodeGroupOptions: [{name: p, scaleDownUtilizationThreshold: 0.63}]'],
    ],
    [
      'utilization without DaemonSet pods',
      world({
        pods: [
          api('p-0', 'a', { cpu: '100m' }),
          aPod({
            name: 'agent',
            nodeName: 'p-0',
            cpu: '3700m',
            daemonSet: true,
            controller: { kind: 'DaemonSet', name: 'agent', uid: 'ds' },
          }),
        ],
      }),
      'leave DaemonSet pods out of the utilization of p',
      ['nodeGroupOptions: [{name: p, ignoreDaemonSetsUtilization: true}]'],
    ],
    [
      'the annotation of the node removed',
      { ...world({ pods: [] }), nodes: [disabled('p-0'), ...nodes('q-0')] },
      'remove the annotation cluster-autoscaler.kubernetes.io/scale-down-disabled from the node',
      ['kubectl annotate node p-0 cluster-autoscaler.kubernetes.io/scale-down-disabled-'],
    ],
    [
      "Karpenter's annotation of the node removed",
      { ...world({ pods: [] }), nodes: [disabled('p-0', { disabledBecause: 'karpenter.sh/do-not-disrupt: "true"' }), ...nodes('q-0')] },
      'remove the annotation karpenter.sh/do-not-disrupt from the node',
      ['kubectl annotate node p-0 karpenter.sh/do-not-disrupt-'],
    ],
    [
      'its instance without protection',
      {
        ...world({ pods: [] }),
        groups: [pool('p', 1, { instances: [anInstance({ node: 'p-0', protectedFrom: 'scale-in' })] }), pool('q', 1, { minSize: 1 })],
      },
      'remove the protection of its instance from scale-in',
      ['az vmss update -g rg -n p --instance-id p-0 --protect-from-scale-in false'],
    ],
    [
      'scale-down switched on',
      world({ pods: [], policy: aPolicy({ scaleDown: { enabled: false } }) }),
      'set scaleDown.enabled to true',
      ['scaleDown: {enabled: true}'],
    ],
    [
      'fewer cores that the cluster must keep',
      world({ pods: [], policy: aPolicy({ scaleDown: { minCoresTotal: 8 } }) }),
      'set scaleDown.minCoresTotal to 4',
      ['scaleDown: {minCoresTotal: 4}'],
    ],
    [
      'more replicas than the least that a drain needs',
      world({
        pods: [api('p-0', 'a')],
        policy: aPolicy({ scaleDown: { minReplicaCount: 2, skipNodesWithCustomControllerPods: true } }),
        owners: new Map([[`ReplicaSet payments/api-${HASH}`, { exists: true, desired: 1 }]]),
      }),
      'run 2 replicas of payments/api',
      ['kubectl -n payments scale deployment api --replicas=2'],
    ],
    [
      'a pod deleted that nothing would create again',
      world({
        pods: [api('p-0', 'a')],
        policy: blockingCustom,
        owners: new Map([[`ReplicaSet payments/api-${HASH}`, { exists: false }]]),
      }),
      'delete pod payments/a, which nothing would create again',
      ['kubectl -n payments delete pod a'],
    ],
    [
      'anti-affinity that is preferred only, where every other node has such a pod',
      world({ pods: [api('p-0', 'a', { shape: { podAntiAffinity: [apart] } }), api('q-0', 'b', { shape: { podAntiAffinity: [apart] } })] }),
      'make the pod anti-affinity rule for kubernetes.io/hostname preferred instead of required',
      [],
    ],
    [
      'anti-affinity of others that is preferred only',
      world({
        pods: [
          api('p-0', 'a'),
          aPod({
            name: 'lonely',
            namespace: 'payments',
            nodeName: 'q-0',
            controller: { ...API, name: 'lonely' },
            shape: { podAntiAffinity: [apart] },
          }),
        ],
      }),
      'make the anti-affinity rule for kubernetes.io/hostname of ReplicaSet payments/lonely preferred instead of required',
      [],
    ],
    [
      'a toleration, where the room is on tainted nodes',
      {
        ...world({ pods: [api('p-0', 'a')] }),
        nodes: [...nodes('p-0'), aNode({ name: 'q-0', taints: [{ key: 'team', value: 'data', effect: 'NoSchedule' }] })],
      },
      'tolerate the taint team=data:NoSchedule',
      ['tolerations: [{key: team, operator: Equal, value: "data", effect: NoSchedule}]'],
    ],
    [
      'a label that it no longer requires',
      world({ pods: [api('p-0', 'a', { shape: { nodeSelector: { disk: 'ssd' } } })] }),
      'no longer require the label disk',
      [],
    ],
    [
      'a lower request, where little is missing',
      world({ pods: [api('p-0', 'a', { cpu: '1500m' }), api('q-0', 'b', { cpu: '2700m', controller: { ...API, name: 'full' } })] }),
      'lower the CPU request from 1.5 to 1.3',
      ['resources: {requests: {cpu: 1300m}}'],
    ],
    [
      'the only node with room uncordoned',
      { ...world({ pods: [api('p-0', 'a')] }), nodes: [...nodes('p-0'), aNode({ name: 'q-0', unschedulable: true })] },
      'uncordon node q-0, which has room for its pods',
      ['kubectl uncordon q-0'],
    ],
  ])('%s', (_what, of, text, commands) => {
    const advice = advise(of);
    expect(advice.fix).toMatchObject({ text, proof: { nodes: 1, groups: ['p'] } });
    expect(commandsOf(advice)).toEqual(commands);
  });

  it('is never the budget while it only waits for pods to be ready', () => {
    const pods = [api('p-0', 'a', { controller: custom }), api('q-0', 'b', { controller: custom })];
    const waiting = aBudget({ ...strict(2), currentHealthy: 1, desiredHealthy: 1, demand: { kind: 'minAvailable', value: 1 } });
    expect(advise(world({ pods, budgets: [waiting] }))).toMatchObject({ tried: 0, obstacle: expect.stringContaining('1 of 1 required') });
  });

  it('is nothing while the node only needs time', () => {
    expect(advise(world({ pods: [api('p-0', 'a')] }))).toEqual({
      wait: 'it is removed once its idle time, cooldowns and earlier removals have passed',
      tried: 0,
    });
  });

  it('is nothing where its pods need it: what is in the way is named', () => {
    const { fix, obstacle } = advise(world({ pods: [api('p-0', 'a', { cpu: '2' }), api('q-0', 'b', { cpu: '3500m' })] }));
    expect({ fix, obstacle }).toEqual({ fix: undefined, obstacle: 'pod payments/a: fits on no other node' });
  });

  it.each([
    [1, undefined],
    [2, 'lower the minimum of p from 2 to 1'],
  ])('is no smaller minimum than one node for a system pool, which AKS does not empty: from %i (azure-wire 374)', (minSize, text) => {
    const names = ['p-0', 'p-1'].slice(0, minSize);
    const labels = { 'kubernetes.azure.com/mode': 'system' };
    const { fix } = advise({
      groups: [pool('p', minSize, { minSize }), pool('q', 1, { minSize: 1 })],
      nodes: [...names.map((name) => aNode({ name, labels })), ...nodes('q-0')],
      pods: [],
    });
    expect(fix?.text).toBe(text);
  });

  it('is no change in kube-system, which AKS reverts', () => {
    const dns = aPod({ name: 'dns', namespace: 'kube-system', nodeName: 'p-0', safeToEvict: 'false', createdAtMs: 0 });
    expect(advise(world({ pods: [dns] }))).toMatchObject({ tried: 0, obstacle: expect.stringContaining('safe-to-evict') });
  });

  it('is no further replica that would need a new node itself', () => {
    const full = api('q-0', 'b', { cpu: '3800m', controller: { ...API, name: 'full' }, shape: { labels: { app: 'full' } } });
    const { fix } = advise(world({ pods: [api('p-0', 'a', { cpu: '1900m' }), full], budgets: [strict(1)] }));
    expect(fix).toBeUndefined();
  });
});

/** What a person should know before running the commands of the fix. */
const warningsOf = ({ fix }: RemovalAdvice) => (fix?.steps ?? []).map(({ warning }) => warning);

describe('a step that can lose data or protection says so before', () => {
  const local = [
    { name: 'cache', kind: 'emptyDir' as const },
    { name: 'logs', kind: 'hostPath' as const },
  ];
  const TEMPLATE = 'a change of the pod template replaces the running pods';
  const blockingLocal = aPolicy({ scaleDown: { skipNodesWithLocalStorage: true } });
  const custom = { kind: 'Rollout', apiVersion: 'argoproj.io/v1alpha1', name: 'api', uid: 'x' };
  const blockingCustom = aPolicy({ scaleDown: { skipNodesWithCustomControllerPods: true } });

  it.each<[string, World, readonly string[]]>([
    [
      'local volumes that are listed as safe to lose',
      world({ pods: [api('p-0', 'a', { localVolumes: local })], policy: blockingLocal }),
      ['the content of cache (emptyDir), logs (hostPath) of 1 pod is lost when its node is removed, which may be within minutes', TEMPLATE],
    ],
    [
      'the consent to be evicted',
      world({ pods: [api('p-0', 'a', { controller: custom })], policy: blockingCustom }),
      ['1 pod may be evicted at any time from then on, and what it keeps on its node is lost', TEMPLATE],
    ],
    [
      'the end of a protection, with volumes of the node',
      world({ pods: [api('p-0', 'a', { safeToEvict: 'false', localVolumes: local }), api('q-0', 'b')] }),
      [
        'the annotation protects from interruption; without it, 2 pods may be evicted at any time from then on, and the content of cache (emptyDir), logs (hostPath) is lost',
        TEMPLATE,
      ],
    ],
    [
      "the end of Karpenter's protection",
      world({ pods: [api('p-0', 'a', { protection: PROTECTED })] }),
      [
        'the annotation protects from interruption; without it, 1 pod may be evicted at any time from then on, and what it keeps on its node is lost',
        TEMPLATE,
      ],
    ],
    [
      'the protection of a node',
      { ...world({ pods: [] }), nodes: [aNode({ name: 'p-0', scaleDownDisabled: true }), ...nodes('q-0')] },
      ['the annotation protects the node and its pods from being interrupted'],
    ],
    [
      'a relaxed budget that covers pods of others',
      world({
        pods: [api('p-0', 'a', { controller: custom }), api('q-0', 'b', { controller: { ...API, name: 'web' } })],
        budgets: [strict(2)],
      }),
      ['the budget covers 2 pods, 1 of them of other workloads; one of them may be unavailable at any time from then on'],
    ],
  ])('%s', (_what, of, warnings) => {
    expect(warningsOf(advise(of))).toEqual(warnings);
  });

  const broad = { ...strict(4), name: 'all', selector: { requirements: [] }, disruptionsAllowed: 4 };
  const other = (name: string) => api('q-0', name, { controller: { ...API, name: 'web' }, shape: { labels: { app: 'web' } } });

  it('of two budgets on one pod, the one that covers the fewest other pods is deleted', () => {
    const pods = [api('p-0', 'a'), other('b'), other('c')];
    const advice = advise(world({ pods, budgets: [broad, { ...strict(1), disruptionsAllowed: 1 }] }));
    expect(advice.fix?.text).toBe('delete PodDisruptionBudget payments/api');
    expect(warningsOf(advice)).toEqual(['the budget covers 1 pod, all of this workload; only the demand of the other budget remains']);
  });

  it('a budget that covers other pods stays, even if more has to change then', () => {
    const pods = [api('p-0', 'a'), other('b'), other('c')];
    const all = { ...strict(3), name: 'all', selector: { requirements: [] }, demand: { kind: 'minAvailable' as const, value: '100%' } };
    const { fix } = advise(world({ pods, budgets: [all, strict(1)] }));
    expect(fix?.text).toBe(
      'delete PodDisruptionBudget payments/api, and let PodDisruptionBudget payments/all, which covers 2 other pods, allow 1 unavailable pod',
    );
  });

  it('a budget that covers the whole namespace is named with all that it covers', () => {
    const pods = [api('p-0', 'a'), other('b'), other('c')];
    const advice = advise(world({ pods, budgets: [broad, { ...broad, name: 'too' }] }));
    expect(advice.fix?.text).toBe('delete PodDisruptionBudget payments/all, which covers 2 other pods');
    expect(warningsOf(advice)).toEqual([
      'the budget covers every pod of its namespace, now 3 pods, 2 of them of other workloads; the others lose this protection; to keep it, narrow the selector until it leaves out this workload',
    ]);
  });

  it('pods of another workload with the same hash are not annotated with them', () => {
    const twin = api('q-0', 'twin', { controller: { ...API, name: 'twin' } });
    const advice = advise(world({ pods: [api('p-0', 'a', { safeToEvict: 'false' }), twin] }));
    expect(commandsOf(advice)[0]).toBe('kubectl -n payments annotate pods a cluster-autoscaler.kubernetes.io/safe-to-evict-');
  });
});

describe('in a cluster of many nodes', () => {
  it('only what the same thing keeps is planned, and counted', () => {
    const many = Array.from({ length: 320 }, (_, at) => `p-${at}`);
    const blocked = ['p-0', 'p-1', 'p-2'];
    const busy = many
      .slice(3)
      .map((name) => api(name, `busy-${name}`, { cpu: '3', controller: { ...API, name: 'busy' }, shape: { labels: { app: 'busy' } } }));
    const of = world({ pods: [...blocked.map((name) => api(name, `api-${name}`)), ...busy], budgets: [strict(3)] }, many);
    const { kept } = plan({ ...of, policy: aPolicy({ scaleDown: { maxParallelDrains: 10 } }) });
    const adviser = new RemovalAdviser(
      { ...REMOVALS_ALONE, observation: observe(of), state: aState(), policy: aPolicy(), names: resourceNames },
      { kept },
    );
    expect(finishAtOnce(adviser.advise('p-0'))?.fix).toMatchObject({ text: 'run 4 replicas of payments/api', proof: { nodes: 3 } });
    // Others of its kind would go first, and then there is no more room for its pod.
    expect(finishAtOnce(adviser.advise('p-300'))).toMatchObject({ obstacle: 'utilization 75 %, above the threshold of 50 %' });
  });
});
