/** Growth and removal do not contradict each other. */
import { describe, expect, it } from 'vitest';
import type { PodVerdict } from '../../../src/domain/reasons.ts';
import { fullGroups } from '../../../src/planning/scale-down/full-groups.ts';
import { aNode, aPod } from '../../support/builders.ts';
import { keptReasons, names, nodes, plan, pool, removed, sinceMinutes } from './world.ts';

const full = pool('full', 2, { maxSize: 2 });
const roomy = pool('roomy', 2, { maxSize: 3 });
const waiter = aPod({ name: 'web' });
const MAX = { kind: 'max-size', max: 2 } as const;

describe('groups at their maximum for which pods wait', () => {
  it.each<{ readonly name: string; readonly verdict: PodVerdict; readonly found: readonly string[] }>([
    {
      name: 'a pod that only the maximum keeps out',
      verdict: { kind: 'helpless', byGroup: [{ group: full.id, skip: MAX }] },
      found: ['full'],
    },
    {
      name: 'a pod that only the limit of AKS keeps out',
      verdict: { kind: 'helpless', byGroup: [{ group: full.id, skip: { kind: 'pool-limit', limit: 1_000, max: 2 } }] },
      found: ['full'],
    },
    {
      name: 'a pod that the group could not take either way',
      verdict: { kind: 'helpless', byGroup: [{ group: full.id, skip: MAX, fit: [{ kind: 'unschedulable' }] }] },
      found: [],
    },
    {
      name: 'a pod that another obstacle keeps out',
      verdict: { kind: 'helpless', byGroup: [{ group: full.id, skip: { kind: 'no-template' } }] },
      found: [],
    },
    { name: 'a pod that was not evaluated', verdict: { kind: 'waiting', detail: 'the time was up' }, found: ['full'] },
    { name: 'a pod that a present node takes', verdict: { kind: 'fits-present-node', node: 'a' }, found: [] },
    { name: 'a pod that is no reason to grow', verdict: { kind: 'ignored', reason: 'expendable' }, found: [] },
  ])('$name: $found', ({ verdict, found }) => {
    const result = fullGroups({ verdicts: new Map([[waiter, verdict]]) }, [full, roomy]);
    expect([...result]).toEqual(found.map((group) => [group, 'default/web']));
  });
});

describe('an unneeded node', () => {
  const unneededSince = sinceMinutes(30, names(2));
  const base = { groups: [pool('p', 2, { maxSize: 2 })], nodes: nodes(...names(2)), state: { unneededSince } };
  const waiting = new Map([[base.groups[0]?.id ?? full.id, 'default/web']]);

  it('is removed if no pod waits for its group', () => {
    expect(removed(plan(base))).toEqual(['p-0', 'p-1']);
  });

  it('stays while a pod waits for its group, which is at its maximum, and keeps its timer', () => {
    const result = plan({ ...base, fullGroups: waiting });
    expect(removed(result)).toEqual([]);
    expect(keptReasons(result)).toEqual({ 'p-0': 'PodsBlockedByMaximum', 'p-1': 'PodsBlockedByMaximum' });
    expect(result.kept[0]?.detail).toBe('pod default/web waits for its node group, which is at its maximum of 2');
    expect(result.unneeded).toEqual(unneededSince);
  });

  it('is removed if it is broken: its replacement helps the pod', () => {
    const broken = aNode({ name: 'p-0', readiness: { ready: false, sinceMs: 0, reason: 'NotReady' } });
    const result = plan({ ...base, nodes: [broken, ...nodes('p-1')], fullGroups: waiting });
    expect(removed(result)).toEqual(['p-0']);
  });
});

describe('a pod that must run near another one', () => {
  const term = {
    topologyKey: 'kubernetes.io/hostname',
    selector: { requirements: [{ key: 'app', operator: 'In', values: ['cache'] }] },
    namespaces: [],
    namespaceSelector: undefined,
  } as const;
  const cache = aPod({ name: 'cache', nodeName: 'p-0', shape: { cpu: '200m', labels: { app: 'cache' } } });
  const follower = (cpu: string) => aPod({ name: 'follower', nodeName: 'p-0', shape: { cpu, podAffinity: [term] } });
  const base = { groups: [pool('p', 2)], nodes: nodes(...names(2)), state: { unneededSince: sinceMinutes(30, ['p-0']) } };

  it.each([['100m'], ['1']])('follows it to another node, whichever is the larger (%s CPU)', (cpu) => {
    const busy = aPod({ name: 'busy', nodeName: 'p-1', cpu: '2500m' });
    expect(removed(plan({ ...base, pods: [cache, follower(cpu), busy] }))).toEqual(['p-0']);
  });

  it('keeps its node if the other one stays', () => {
    const busy = aPod({ name: 'busy', nodeName: 'p-1', cpu: '2500m' });
    const result = plan({ ...base, pods: [follower('1'), busy] });
    expect(keptReasons(result)['p-0']).toBe('NoPlaceToMovePods');
  });
});
