import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import { type Change, stepsFor } from '../../../../src/planning/explain/changes/change-kinds.ts';
import { workloadOf } from '../../../../src/planning/explain/changes/workload.ts';
import { aCluster, aGroup, anAgentPool, anObservation, aPod, aTemplate } from '../../../support/builders.ts';

const pod = aPod({ name: 'web-1', namespace: 'shop', controller: { kind: 'ReplicaSet', name: 'web', uid: 'u' } });
const stepsIn = (group: NodeGroup, ...changes: readonly Change[]) =>
  stepsFor(changes, { observation: anObservation([group], aCluster({ nodes: [] })), workload: workloadOf(pod) });
const gpu = (part: Parameters<typeof aGroup>[0] = {}) => aGroup({ id: 'gpu', minSize: 1, maxSize: 4, target: 4, ...part });
const raise: Change = { kind: 'raise-maximum', group: gpu().id, from: 4, to: 7 };
const TAG = 'az tag update --operation merge --tags max=7 --resource-id "$(az vmss show -g rg -n gpu --query id -o tsv)"';

describe('a maximum is raised where it lives', () => {
  it.each<[string, Partial<NodeGroup>, readonly object[]]>([
    [
      'in the configuration',
      { maxFrom: 'settings' },
      [{ where: 'nodeGroups of the configuration, or the flag --nodes', patch: 'nodeGroups: [{name: gpu, min: 1, max: 7}]' }],
    ],
    [
      'in the rule',
      { maxFrom: 'discovery-rule' },
      [{ where: 'discovery of the configuration: the max of the rule that selects the pool' }],
    ],
    [
      'in a tag, of the scale set and of the pool',
      { maxFrom: 'tag', agentPool: anAgentPool({ name: 'gpupool', count: 4 }) },
      [{ where: 'the tag max of agent pool gpupool' }, { where: 'the tag max of scale set gpu', command: TAG }],
    ],
    [
      'with a warning if AKS would set the pool to another size',
      { maxFrom: 'tag', agentPool: anAgentPool({ name: 'gpupool', count: 1 }) },
      [
        {
          where: 'the tag max of agent pool gpupool',
          warning: 'AKS has 1 as the count of agent pool gpupool, whose size is 4: `az aks nodepool update` would set it to 1',
        },
        { where: 'the tag max of scale set gpu', command: TAG },
      ],
    ],
    [
      'in a pool without a scale set',
      { maxFrom: 'tag', kind: 'vms-pool', agentPool: anAgentPool({ name: 'v', count: 9 }) },
      [{ where: 'the tag max of agent pool v' }],
    ],
    [
      "in the agent pool, for AKS's own autoscaler, beside which a dry run decides",
      { maxFrom: 'agent-pool', agentPool: anAgentPool({ name: 'gpupool' }) },
      [
        {
          where: "the limits of AKS's own autoscaler in agent pool gpupool",
          command:
            'az aks nodepool update -g CLUSTER_RESOURCE_GROUP --cluster-name CLUSTER -n gpupool --update-cluster-autoscaler --min-count 1 --max-count 7',
        },
      ],
    ],
    ['somewhere', {}, [{ where: 'the place that sets the maximum: nodeGroups of the configuration, --nodes, or the tag max' }]],
  ])('%s', (_what, part, steps) => {
    expect(stepsIn({ ...gpu(), ...part }, raise)).toEqual(steps);
  });

  it('and never by the autoscaler of AKS, which would work against this one', () => {
    const origins = ['settings', 'discovery-rule', 'tag', undefined] as const;
    const all = origins.flatMap((maxFrom) =>
      stepsIn({ ...gpu(), ...(maxFrom === undefined ? {} : { maxFrom }), agentPool: anAgentPool({ name: 'p', count: 1 }) }, raise),
    );
    expect(JSON.stringify(all)).not.toMatch(/max-count|enable-cluster-autoscaler|nodepool scale/);
  });
});

describe('other changes', () => {
  const group = gpu({ template: aTemplate({ taints: [{ key: 'gpu', value: '', effect: 'NoSchedule' }] }) });
  it.each<[Change, readonly object[]]>([
    [
      { kind: 'tolerate', taint: { key: 'team', value: 'data', effect: 'NoSchedule' } },
      [
        {
          where: 'the pod template of ReplicaSet shop/web',
          patch: 'tolerations: [{key: team, operator: Equal, value: "data", effect: NoSchedule}]',
        },
      ],
    ],
    [
      { kind: 'lower-request', resource: 'memory', from: 15 * 2 ** 30, to: Math.floor(13.1 * 2 ** 30) },
      [{ where: 'the pod template of ReplicaSet shop/web', patch: 'resources: {requests: {memory: 13.1Gi}}' }],
    ],
    [
      { kind: 'lower-request', resource: 'cpu', from: 4000, to: 3860 },
      [{ where: 'the pod template of ReplicaSet shop/web', patch: 'resources: {requests: {cpu: 3860m}}' }],
    ],
    [
      { kind: 'raise-cluster-limit', limit: 'nodes', from: 3, to: 5 },
      [{ where: 'the configuration', patch: 'scaleUp: {maxNodesTotal: 5}' }],
    ],
    [
      { kind: 'raise-cluster-limit', limit: 'memory', from: 2 ** 30, to: 20.44 * 2 ** 30 },
      [{ where: 'the configuration', patch: 'scaleUp: {maxMemoryTotalGib: 20.5}' }],
    ],
    [
      { kind: 'raise-capacity-quota', quota: 'team', resource: 'cpu', from: 4, to: 8 },
      [
        {
          where: 'CapacityQuota team',
          command: `kubectl patch capacityquota team --type=merge -p '{"spec":{"limits":{"resources":{"cpu":"8"}}}}'`,
        },
      ],
    ],
    [{ kind: 'label-pool', group: group.id, key: 'disk', value: 'ssd' }, [{ where: 'the labels of agent pool gpu: disk=ssd' }]],
    [
      { kind: 'add-pool', like: group.id, offers: {}, zone: 'westeurope-2' },
      [
        {
          where: 'a new agent pool',
          command:
            'az aks nodepool add -g CLUSTER_RESOURCE_GROUP --cluster-name CLUSTER -n NEW_POOL --node-vm-size SIZE --node-count 0 --zones 2 --node-taints gpu:NoSchedule',
        },
      ],
    ],
    [{ kind: 'drop-host-port', port: 80, protocol: 'TCP' }, [{ where: 'the ports of the pod template of ReplicaSet shop/web' }]],
    [
      { kind: 'drop-pod-affinity', rule: 'anti-affinity', topologyKey: 'zone' },
      [
        {
          where:
            'podAntiAffinity of the pod template of ReplicaSet shop/web: from requiredDuringSchedulingIgnoredDuringExecution to preferredDuringSchedulingIgnoredDuringExecution',
          warning: 'the pods may run side by side from then on, and fail together',
        },
      ],
    ],
    [
      { kind: 'raise-max-skew', topologyKey: 'zone', from: 1, to: 2 },
      [{ where: 'topologySpreadConstraints of the pod template of ReplicaSet shop/web: maxSkew 2 for zone' }],
    ],
    [
      { kind: 'drop-label-rule', key: 'disk' },
      [{ where: 'nodeSelector and nodeAffinity of the pod template of ReplicaSet shop/web: disk' }],
    ],
  ])('%o', (change, steps) => {
    expect(stepsIn(group, change)).toEqual(steps);
  });
});

describe('a new pool', () => {
  const added: Change = { kind: 'add-pool', like: gpu().id, offers: {} };
  const commandOf = (part: Partial<NodeGroup>, change: Change = added, newNodes = 2) => {
    const observation = anObservation([{ ...gpu(), ...part }], aCluster({ nodes: [] }));
    return stepsFor([change], { observation, newNodes }).map(({ command, patch }) => command?.replace(/^.* SIZE /, '') ?? patch);
  };

  it.each<[string, Partial<NodeGroup>, string]>([
    ['the zones of its model', { zones: ['westeurope-1', 'westeurope-3'] }, '--node-count 0 --zones 1 3'],
    ['the priority of its model', { priority: 'Spot' }, '--node-count 0 --priority Spot'],
    [
      'the operating system of its model',
      { template: aTemplate({ labels: { 'kubernetes.io/os': 'windows' } }) },
      '--node-count 0 --os-type Windows',
    ],
    [
      'a subnet, as all pools of the cluster do',
      { agentPool: anAgentPool({ name: 'p', subnetId: '/a/subnet' }) },
      '--node-count 0 --vnet-subnet-id /a/subnet',
    ],
    [
      'the tags that make it a node group, whose maximum allows what the pods need',
      { maxFrom: 'tag', maxSize: 1, agentPool: anAgentPool({ name: 'p', tags: { on: 'true', Max: '1' } }) },
      '--node-count 0 --tags on=true max=2',
    ],
    [
      'a larger maximum of its model',
      { maxFrom: 'tag', maxSize: 9, agentPool: anAgentPool({ name: 'p', tags: { max: '9' } }) },
      '--node-count 0 --tags max=9',
    ],
    [
      "AKS's own autoscaler, if that scales its model",
      { maxFrom: 'agent-pool', maxSize: 1 },
      '--node-count 0 --enable-cluster-autoscaler --min-count 0 --max-count 2',
    ],
  ])('has %s', (_what, part, flags) => {
    expect(commandOf(part)).toEqual([flags]);
  });

  it('has room for the pods of a node', () => {
    expect(commandOf({}, { ...added, offers: { pods: 120 } })).toEqual(['--node-count 0 --max-pods 120']);
  });

  it('is named in the configuration, if that names its model', () => {
    expect(commandOf({ maxFrom: 'settings', maxSize: 1 })).toEqual(['--node-count 0', 'nodeGroups: [{name: NEW_POOL, min: 0, max: 2}]']);
  });
});

describe('a command of AKS', () => {
  it('comes before the one that changes the size: AKS would set it back to its count', () => {
    const tagged = gpu({ maxFrom: 'tag', agentPool: anAgentPool({ name: 'gpupool', count: 4, tags: { max: '4' } }) });
    expect(stepsIn(tagged, raise).map(({ command }) => command?.split(' ').slice(0, 3).join(' '))).toEqual([
      'az aks nodepool',
      'az tag update',
    ]);
  });

  it('names the cluster, if the configuration does', () => {
    const { cloud, ...rest } = anObservation([gpu()], aCluster({ nodes: [] }));
    const observation = { ...rest, cloud: { ...cloud, managedCluster: { name: 'shop', resourceGroup: 'rg-shop' } } };
    const [step] = stepsFor([{ kind: 'add-pool', like: gpu().id, offers: {} }], { observation });
    expect(step?.command).toMatch(/^az aks nodepool add -g rg-shop --cluster-name shop -n NEW_POOL /);
  });

  const UPDATE = 'az aks nodepool update -g CLUSTER_RESOURCE_GROUP --cluster-name CLUSTER -n gpupool';
  const facts = { name: 'gpupool', count: 1, labels: { team: 'ml' }, tags: { owner: 'ml', max: '4' } };
  const group = gpu({ maxFrom: 'tag', agentPool: anAgentPool(facts) });

  it('takes the place of a tag that is written in another letter case, as Azure compares names', () => {
    const other = gpu({ maxFrom: 'tag', agentPool: anAgentPool({ ...facts, tags: { Owner: 'ml', Max: '4' } }) });
    expect(stepsIn(other, raise)[0]?.command).toBe(`${UPDATE} --tags Owner=ml max=7`);
  });

  it('keeps what it would replace, names the agent pool, and warns of a count that it would set', () => {
    const count = 'AKS has 1 as the count of agent pool gpupool, whose size is 4: `az aks nodepool update` would set it to 1';
    const replaces = (what: string) =>
      `\`--${what}\` replaces all ${what} of the pool: one that was added since they were read is lost; ${count}`;
    expect(stepsIn(group, { kind: 'label-pool', group: group.id, key: 'disk', value: 'ssd' })).toEqual([
      { where: 'the labels of agent pool gpupool', command: `${UPDATE} --labels team=ml disk=ssd`, warning: replaces('labels') },
    ]);
    expect(stepsIn(group, raise)[0]).toEqual({
      where: 'the tag max of agent pool gpupool',
      command: `${UPDATE} --tags owner=ml max=7`,
      warning: replaces('tags'),
    });
  });

  const unread = { known: false, reason: 'never read' } as const;
  const WOULD_SET = 'is unknown: `az aks nodepool update` would set the size to the count';
  it.each<[string, Partial<NodeGroup>, string]>([
    ['the count', { agentPool: anAgentPool({ name: 'gpupool' }) }, `of agent pool gpupool, the count that AKS has ${WOULD_SET}`],
    [
      'the size',
      { agentPool: anAgentPool({ name: 'gpupool', count: 1 }), target: unread },
      `of agent pool gpupool, its size (AKS has 1 as the count) ${WOULD_SET}`,
    ],
  ])('warns that AKS may set another size if %s is unknown', (_what, part, warning) => {
    expect(stepsIn({ ...group, ...part }, raise)[0]?.warning).toBe(warning);
  });

  it('says that labels are lost that nothing has read', () => {
    const { labels: _labels, ...unlabelled } = facts;
    const [step] = stepsIn(
      { ...group, agentPool: anAgentPool(unlabelled) },
      { kind: 'label-pool', group: group.id, key: 'disk', value: 'ssd' },
    );
    expect(step?.warning).toMatch(
      /replaces all labels of the pool, and its present labels are unknown: those that the command lacks are lost/,
    );
  });
});
