/** How often a plan walks over the whole cluster: most of what a removal costs in a large one. */
import { expect, it } from 'vitest';
import { aGroup, aNode, aPod, aShape, type ShapeOptions } from '../../support/builders.ts';
import { plan } from './world.ts';

const ZONE = 'topology.kubernetes.io/zone';

function ownRule(at: number): ShapeOptions {
  const selector = { requirements: [{ key: 'app', operator: 'In', values: [`own-${at}`] }] } as const;
  const constraint = { topologyKey: ZONE, maxSkew: 1, minDomains: 1, selector } as const;
  const topologySpread = [{ ...constraint, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' }] as const;
  return { cpu: '1m', memory: '1Mi', labels: { app: `own-${at}` }, topologySpread };
}

/** Reads of the labels of pods on other nodes while a node with so many kinds of pods, each with a rule of its own, is found unneeded. */
function readsFor(kinds: number): number {
  let reads = 0;
  const bystander = (at: number) => {
    const shape = aShape({ cpu: '30m', memory: '16Mi', labels: { app: `other-${at}` } });
    const watched = new Proxy(shape, {
      get(target, name) {
        if (name === 'labels') reads += 1;
        return Reflect.get(target, name);
      },
    });
    return aPod({ nodeName: 'pool-0', shape: watched });
  };
  const labels = { [ZONE]: 'we-1' };
  const pods = Array.from({ length: kinds }, (_, at) => aPod({ nodeName: 'pool-1', shape: aShape(ownRule(at)) }));
  const world = {
    groups: [aGroup({ id: 'pool', target: 2, minSize: 0 })],
    nodes: [aNode({ name: 'pool-0', labels }), aNode({ name: 'pool-1', labels })],
    pods: [...Array.from({ length: 80 }, (_, at) => bystander(at)), ...pods],
  };
  expect([...plan(world).unneeded.keys()]).toEqual(['pool-1']);
  return reads;
}

it('a removal walks over the present pods once, however many kinds of pods it moves', () => {
  expect(readsFor(24)).toBeLessThan(1.2 * readsFor(6));
});
