/** Groups of which most nodes are no use: more of them would hardly be better, so others grow. */
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import { classifyVerdict } from '../../../src/planning/explain/verdicts.ts';
import { aGroup, anInstance, aNode, aPod, aTemplate, START_MS, type GroupOptions } from '../../support/builders.ts';
import { growth, planFor, skipOf, verdictOf, type World } from './world.ts';

const HOUR = 3_600_000;
const sick = { readiness: { ready: false, sinceMs: START_MS - HOUR, reason: 'Ready=Unknown' }, createdAtMs: START_MS - HOUR };
const members = (unready: number, of: number, rest: Partial<Node> = sick) =>
  Array.from({ length: of }, (_, index) => aNode({ name: `a-${index}`, ...(index < unready ? rest : {}) }));
/** A large healthy pool beside it, so that the cluster as a whole is well. */
const others = Array.from({ length: 12 }, (_, index) => aNode({ name: `z-${index}`, cpu: '1' }));
const full = others.map(({ name }) => aPod({ name: `full-${name}`, cpu: '1', nodeName: name }));
const template = aTemplate({ cpu: '4' });
const a = (options: GroupOptions = {}) => aGroup({ id: 'a', target: 8, maxSize: 20, template, ...options });
const z = aGroup({ id: 'z', target: 12, maxSize: 12, template: aTemplate({ cpu: '1' }) });
const wish = aPod({ name: 'wish', cpu: '3' });

function grown(nodes: readonly Node[], rest: Partial<World> = {}) {
  const busy = nodes.filter(({ readiness }) => readiness.ready).map(({ name }) => aPod({ name: `busy-${name}`, cpu: '3', nodeName: name }));
  return planFor({ groups: [a(), z], nodes: [...nodes, ...others], pods: [...busy, ...full, wish], ...rest });
}

describe('a group whose nodes are mostly not ready', () => {
  it.each([
    { name: '4 of 8: more than three, and more than 45 %', nodes: members(4, 8), grows: [] },
    { name: '3 of 8: three never matter', nodes: members(3, 8), grows: ['a 8->9'] },
    { name: '4 of 10: 40 %', nodes: members(4, 10), target: 10, grows: ['a 10->11'] },
    { name: '5 of 10: 50 %', nodes: members(5, 10), target: 10, grows: [] },
    {
      name: '4 of 8, which are starting',
      nodes: members(4, 8, { ...sick, createdAtMs: START_MS - 60_000, unschedulable: true }),
      grows: ['a 8->9'],
    },
    {
      name: '4 of 8, which start for an hour and more in this group',
      nodes: members(4, 8, { ...sick, unschedulable: true }),
      options: { maxStartupMs: 2 * HOUR },
      grows: ['a 8->9'],
    },
  ])('$name: $grows', ({ nodes, target = 8, options = {}, grows }) => {
    const plan = grown(nodes, { groups: [a({ target, options }), z] });
    expect(growth(plan)).toEqual(grows);
    if (grows.length > 0) return;
    const unready = nodes.filter(({ readiness }) => !readiness.ready).length;
    expect(skipOf(plan, 'a')).toEqual({ kind: 'unhealthy', detail: `${unready} of its ${nodes.length} nodes are not ready` });
    const verdict = verdictOf(plan, wish);
    expect(verdict === undefined ? undefined : classifyVerdict(verdict)).toBe('blocked-by-backoff');
  });

  it.each([
    { name: '4 of 8, some minutes ago', lost: 4, sinceMs: START_MS - 5 * 60_000, grows: [] },
    { name: '3 of 8: three never matter', lost: 3, sinceMs: START_MS - 5 * 60_000, grows: ['a 8->9'] },
    { name: 'two, beside two that are not ready', lost: 2, unready: 2, sinceMs: START_MS - 5 * 60_000, grows: [] },
    {
      name: '4 of 8, that never were nodes',
      lost: 4,
      sinceMs: START_MS - HOUR + 10_000,
      maxProvisionMs: 2 * HOUR,
      grows: [],
      coming: true,
    },
  ])('machines that lost their nodes count: $name: $grows', ({ lost, unready = 0, sinceMs, maxProvisionMs, grows, coming }) => {
    const instances = Array.from({ length: 8 }, (_, index) => anInstance({ node: `a-${index}`, firstSeenMs: START_MS - HOUR }));
    const unregisteredSince = new Map(instances.slice(8 - lost).map(({ key }) => [key, sinceMs] as const));
    const options = maxProvisionMs === undefined ? {} : { maxProvisionMs };
    const plan = grown(members(unready, 8 - lost), { groups: [a({ instances, options }), z], state: { unregisteredSince } });
    expect(growth(plan)).toEqual(grows);
    if (coming === true) expect(verdictOf(plan, wish)).toMatchObject({ kind: 'fits-upcoming-node' });
    if (grows.length > 0 || coming === true) return;
    const detail = `${unready} of its ${8 - lost} nodes are not ready, and ${lost} instances have lost their node`;
    expect(skipOf(plan, 'a')).toEqual({ kind: 'unhealthy', detail });
  });

  it('leaves the pods to another group', () => {
    const b = aGroup({ id: 'b', target: 0, maxSize: 5, template });
    expect(growth(grown(members(6, 8), { groups: [a(), b, z] }))).toEqual(['b 0->1']);
  });

  it('is brought to its minimum all the same', () => {
    expect(growth(grown(members(4, 8), { groups: [a({ minSize: 10 }), z], policy: { enforceMinSize: true } }))).toEqual(['a 8->10']);
  });
});
