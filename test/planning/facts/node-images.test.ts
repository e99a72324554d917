import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { isOlderImage, NODE_IMAGE_LABEL, nodesWithOldImage } from '../../../src/planning/facts/node-images.ts';
import { anAgentPool, aNode, aPod } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { names, nodes, observe, plan, pool, removed, sinceMinutes, slots } from '../scale-down/world.ts';

const UBUNTU = 'AKSUbuntu-2204gen2containerd';
const OLD = `${UBUNTU}-202409.30.0`;
const NEW = `${UBUNTU}-202410.15.0`;
const withImage = (name: string, image?: string, unschedulable = false) =>
  aNode({ name, cpu: '4', memory: '16Gi', unschedulable, labels: image === undefined ? {} : { [NODE_IMAGE_LABEL]: image } });

describe('isOlderImage', () => {
  it.each([
    { name: 'an earlier month', image: OLD, other: NEW, older: true },
    { name: 'a later month', image: NEW, other: OLD, older: false },
    { name: 'the same image', image: NEW, other: NEW, older: false },
    { name: 'numbers, not text', image: `${UBUNTU}-202409.5.0`, other: `${UBUNTU}-202409.30.0`, older: true },
    {
      name: 'a Windows image',
      image: 'AKSWindows-2022-containerd-20348.2700.240911',
      other: 'AKSWindows-2022-containerd-20348.2762.241009',
      older: true,
    },
    { name: 'another system: not compared', image: 'AKSUbuntu-2004gen2containerd-202401.1.0', other: NEW, older: false },
    { name: 'no version: not compared', image: 'custom', other: NEW, older: false },
    { name: 'more numbers', image: `${UBUNTU}-202410.15`, other: NEW, older: false },
  ])('$name', ({ image, other, older }) => {
    expect(isOlderImage(image, other)).toBe(older);
  });
});

describe('nodesWithOldImage', () => {
  const group = (nodeImage?: string): NodeGroup =>
    pool('p', 2, nodeImage === undefined ? {} : { agentPool: anAgentPool({ name: 'p', nodeImage }) });
  it.each([
    { name: 'one of two, by its neighbour', agentPool: undefined, images: [OLD, NEW], old: ['p-0'] },
    { name: 'all, by the pool of AKS', agentPool: NEW, images: [OLD, OLD], old: ['p-0', 'p-1'] },
    { name: 'not a node that is newer than its pool: its upgrade was stopped', agentPool: OLD, images: [OLD, NEW], old: ['p-0'] },
    { name: 'none of equals', agentPool: NEW, images: [NEW, NEW], old: [] },
    { name: 'none without the label', agentPool: NEW, images: [undefined, NEW], old: [] },
  ])('$name', ({ agentPool, images, old }) => {
    const seen = observe({ groups: [group(agentPool)], nodes: images.map((image, index) => withImage(`p-${index}`, image)) });
    expect([...nodesWithOldImage(seen)]).toEqual(old);
  });

  it('compares no nodes of two pools', () => {
    const seen = observe({ groups: [pool('p', 1), pool('r', 1)], nodes: [withImage('p-0', OLD), withImage('r-0', NEW)] });
    expect(nodesWithOldImage(seen).size).toBe(0);
  });
});

describe('the order of removals', () => {
  const drains = aPolicy({ scaleDown: { maxParallelDrains: 5 } });
  const since = { unneededSince: sinceMinutes(30, names(3)) };

  it('has empty nodes before others, and the old image first in both', () => {
    const all = [withImage('p-0', NEW), withImage('p-1', OLD), withImage('p-2', NEW, true), withImage('p-3', OLD, true)];
    const pods = ['p-2', 'p-3'].map((nodeName) => aPod({ name: nodeName, nodeName, cpu: '100m' }));
    const more = aPod({ name: 'more', nodeName: 'p-3', cpu: '100m' });
    const world = { groups: [pool('p', 4), pool('q', 9, { minSize: 9 })], nodes: [...all, ...slots(9)], policy: drains };
    const state = { unneededSince: sinceMinutes(30, names(4)) };
    expect(removed(plan({ ...world, state, pods: [...pods, more] }))).toEqual(['p-1', 'p-0', 'p-3', 'p-2']);
  });

  it('ends by age and name as before where no image is old', () => {
    const all = names(3).map((name) => withImage(name, NEW));
    expect(removed(plan({ groups: [pool('p', 3)], nodes: all, state: since }))).toEqual(['p-0', 'p-1', 'p-2']);
    expect(removed(plan({ groups: [pool('p', 3)], nodes: nodes(...names(3)), state: since }))).toEqual(['p-0', 'p-1', 'p-2']);
  });

  it("of two nodes that could take each other's pods, the one with the old image is unneeded", () => {
    const all = [withImage('p-0', NEW), withImage('p-1', OLD)];
    const pods = ['p-0', 'p-1'].map((nodeName) => aPod({ name: nodeName, nodeName, cpu: nodeName === 'p-0' ? '1' : '1500m' }));
    expect([...plan({ groups: [pool('p', 2)], nodes: all, pods, policy: drains }).unneeded.keys()]).toEqual(['p-1']);
  });
});
