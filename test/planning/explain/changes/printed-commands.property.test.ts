/** Every command of a step, read by a shell: each name, label and tag arrives as it is, and nothing in it runs. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { Pod } from '../../../../src/domain/pod.ts';
import { type Change, stepsFor } from '../../../../src/planning/explain/changes/change-kinds.ts';
import { aCluster, aGroup, anAgentPool, anInstance, anObservation, aPod, aTemplate } from '../../../support/builders.ts';
import { HOSTILE_WORDS, hostileWord } from '../../../support/hostile-words.ts';
import { callsOf } from '../../../support/shell-calls.ts';

type Words = readonly string[];

interface Case {
  readonly change: Change;
  readonly group?: NodeGroup;
  readonly pods?: readonly Pod[];
  readonly calls: readonly Words[];
}

const COVERS = { pods: 2, others: 1 };
const CLUSTER = (name: string): Words => ['-g', name, '--cluster-name', name];
const idOf = (group: string, set: string): Words => ['az', 'vmss', 'show', '-g', group, '-n', set, '--query', 'id', '-o', 'tsv'];

/** A group whose every name is the word, as far as its key does not divide it. */
function groupOf(word: string, part: Partial<NodeGroup> = {}): NodeGroup {
  return {
    ...aGroup({ id: word }),
    agentPool: anAgentPool({ name: word, count: 0, labels: { a: word }, tags: { [`a${word}`]: word } }),
    ...part,
  };
}

/** `word` has no `=` where it is a key: a shell's word is asked for, not what AKS makes of it. */
const CASES: Readonly<Record<string, (word: string) => Case>> = {
  'the maximum of a tag': (word) => {
    const group = groupOf(word, { maxFrom: 'tag' });
    return {
      change: { kind: 'raise-maximum', group: group.id, from: 1, to: 5 },
      group,
      calls: [
        ['az', 'aks', 'nodepool', 'update', ...CLUSTER(word), '-n', word, '--tags', `a${word}=${word}`, 'max=5'],
        idOf('rg', word),
        ['az', 'tag', 'update', '--operation', 'merge', '--tags', 'max=5', '--resource-id', 'an-id'],
      ],
    };
  },
  "the maximum of AKS's own autoscaler": (word) => {
    const group = groupOf(word, { maxFrom: 'agent-pool', minSize: 1 });
    const limits = ['--update-cluster-autoscaler', '--min-count', '1', '--max-count', '5'];
    return {
      change: { kind: 'raise-maximum', group: group.id, from: 1, to: 5 },
      group,
      calls: [['az', 'aks', 'nodepool', 'update', ...CLUSTER(word), '-n', word, ...limits]],
    };
  },
  'a label of a pool': (word) => ({
    change: { kind: 'label-pool', group: nodeGroupId(word), key: 'b', value: word },
    group: groupOf(word),
    calls: [['az', 'aks', 'nodepool', 'update', ...CLUSTER(word), '-n', word, '--labels', `a=${word}`, `b=${word}`]],
  }),
  'a new pool': (word) => ({
    change: { kind: 'add-pool', like: nodeGroupId(word), offers: {}, zone: `z-${word.replaceAll('-', '')}` },
    group: {
      ...groupOf(word, { template: aTemplate({ taints: [{ key: word, value: word, effect: 'NoSchedule' }] }) }),
      agentPool: anAgentPool({ name: word, labels: { a: word }, tags: { [`a${word}`]: word }, subnetId: word }),
    },
    calls: [
      [
        'az',
        'aks',
        'nodepool',
        'add',
        ...CLUSTER(word),
        '-n',
        'NEW_POOL',
        '--node-vm-size',
        'SIZE',
        '--node-count',
        '0',
        '--zones',
        word.replaceAll('-', ''),
        '--vnet-subnet-id',
        word,
        '--node-taints',
        `${word}${word === '' ? '' : `=${word}`}:NoSchedule`,
        '--labels',
        `a=${word}`,
        '--tags',
        `a${word}=${word}`,
      ],
    ],
  }),
  'the protection of an instance': (word) => ({
    change: { kind: 'unprotect-instance', node: 'n', group: nodeGroupId(word), instance: anInstance({ node: 'n' }).key, from: 'scale-in' },
    group: groupOf(word, { instances: [{ ...anInstance({ node: 'n' }), instanceId: word }] }),
    calls: [['az', 'vmss', 'update', '-g', 'rg', '-n', word, '--instance-id', word, '--protect-from-scale-in', 'false']],
  }),
  'a capacity quota': (word) => ({
    change: { kind: 'raise-capacity-quota', quota: word, resource: word, from: 1, to: 2 },
    calls: [
      [
        'kubectl',
        'patch',
        'capacityquota',
        word,
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { limits: { resources: { [word]: '2' } } } }),
      ],
    ],
  }),
  'replicas of a workload': (word) => ({
    change: { kind: 'scale-workload', workload: { kind: 'Deployment', namespace: word, name: word }, from: 1, to: 2 },
    calls: [['kubectl', '-n', word, 'scale', 'deployment', word, '--replicas=2']],
  }),
  'a budget that is relaxed': (word) => ({
    change: { kind: 'relax-budget', namespace: word, budget: word, to: { kind: 'maxUnavailable', value: 1 }, covers: COVERS },
    calls: [
      [
        'kubectl',
        '-n',
        word,
        'patch',
        'poddisruptionbudget',
        word,
        '--type=merge',
        '-p',
        '{"spec":{"minAvailable":null,"maxUnavailable":1}}',
      ],
    ],
  }),
  'a budget that is deleted': (word) => ({
    change: { kind: 'delete-budget', namespace: word, budget: word, covers: COVERS },
    calls: [['kubectl', '-n', word, 'delete', 'poddisruptionbudget', word]],
  }),
  'a budget that is added': (word) => ({
    change: { kind: 'add-budget', namespace: word, name: word, labels: { app: word } },
    calls: [['kubectl', '-n', word, 'create', 'poddisruptionbudget', word, `--selector=app=${word}`, '--max-unavailable=1']],
  }),
  'an annotation of pods by their names': (word) => ({
    change: { kind: 'annotate-workload', workload: { kind: 'Pod', namespace: word, name: word }, key: word, value: word },
    pods: [aPod({ name: word, namespace: word, nodeName: 'n', controller: undefined })],
    calls: [['kubectl', '-n', word, 'annotate', 'pods', word, `${word}=${word}`, '--overwrite']],
  }),
  'an annotation of pods by their hash': (word) => ({
    change: { kind: 'annotate-workload', workload: { kind: 'Pod', namespace: word, name: word }, key: word },
    pods: [aPod({ name: word, namespace: word, nodeName: 'n', controller: undefined, shape: { labels: { 'pod-template-hash': word } } })],
    calls: [['kubectl', '-n', word, 'annotate', 'pods', '-l', `pod-template-hash=${word}`, `${word}-`]],
  }),
  'a pod of its own': (word) => ({
    change: { kind: 'own-pod', workload: { kind: 'Pod', namespace: word, name: word } },
    calls: [['kubectl', '-n', word, 'delete', 'pod', word]],
  }),
  'a pod that is deleted': (word) => ({
    change: { kind: 'delete-pod', namespace: word, name: word },
    calls: [['kubectl', '-n', word, 'delete', 'pod', word]],
  }),
  'an annotation of a node': (word) => ({
    change: { kind: 'remove-node-annotation', node: word, key: word },
    calls: [['kubectl', 'annotate', 'node', word, `${word}-`]],
  }),
  'a cordoned node': (word) => ({ change: { kind: 'uncordon-node', node: word }, calls: [['kubectl', 'uncordon', word]] }),
};

function commandsOf({ change, group, pods = [] }: Case, cluster: string): readonly string[] {
  const { cloud, ...observed } = anObservation(group === undefined ? [] : [group], aCluster({ nodes: [], pods }));
  const observation = { ...observed, cloud: { ...cloud, managedCluster: { name: cluster, resourceGroup: cluster } } };
  const steps = stepsFor([change], { observation });
  return steps.flatMap(({ command }) => command ?? []);
}

describe('the command of a step', () => {
  it.each(Object.entries(CASES))('%s: a shell passes on the intended words, and runs nothing else', (_what, caseOf) => {
    // One shell reads the commands of many words, since starting it takes longest.
    const words = fc.array(hostileWord, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(words, (all) => {
        expect(callsOf(...all.flatMap((word) => commandsOf(caseOf(word), word)))).toEqual(all.flatMap((word) => caseOf(word).calls));
      }),
      { numRuns: 4, examples: [[[...HOSTILE_WORDS]]] },
    );
  });
});
