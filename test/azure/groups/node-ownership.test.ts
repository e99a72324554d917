import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProviderId } from '../../../src/azure/arm/resource-ids.ts';
import { OwnershipIndex, type OwnershipInput } from '../../../src/azure/groups/node-ownership.ts';
import { registerGroups } from '../../../src/azure/groups/registry.ts';
import { projectScaleSet, type ScaleSetRow } from '../../../src/azure/rows/scale-set.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { aNode } from '../../support/builders.ts';

describe('ownership', () => {
  const id = (name: string) => `azure:///subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/${name}`;
  const registration = registerGroups({
    options: { nodeGroups: [{ name: 'g', min: 0, max: 9 }], discovery: [] },
    scaleSets: new Map([['g', { value: projectScaleSet({ name: 'g', location: 'l', sku: { name: 'x', capacity: 1 } }) as ScaleSetRow }]]),
  });

  it('looks for an unowned instance once, until something changes', () => {
    const owners = new OwnershipIndex({ subscriptionId: 's', nodeResourceGroup: 'r' });
    const look = (version: number): void => {
      const nodes = new Map(
        Array.from({ length: 100 }, (_, index) => [`n${index}`, aNode({ name: `n${index}`, providerId: id(`vm${index}`) })]),
      );
      owners.resolve({ nodes, registration, instancesVersion: version, instance: () => undefined });
    };
    look(1);
    look(1);
    look(1);
    expect(owners.searches).toBe(100);
    look(2);
    expect(owners.searches).toBe(200);
  });

  it('looks each node up once, whatever the number of machines', () => {
    const owners = new OwnershipIndex({ subscriptionId: 's', nodeResourceGroup: 'r' });
    const keys: string[] = [];
    const nodes = new Map([['n', aNode({ name: 'n', providerId: id('vm') })]]);
    owners.resolve({ nodes, registration, instancesVersion: 1, instance: (key) => void keys.push(key) });
    const parsed = parseProviderId(id('vm'));
    expect(keys).toEqual([parsed.ok && parsed.ref.key]);
  });

  /** The nodes n0, n1 and so on. Those of `listed` are in the lists of the group `g`. */
  function input(version: number, nodes: OwnershipInput['nodes'], listed: ReadonlySet<number>): OwnershipInput {
    const keys = new Map([...listed].map((index) => [keyOfVm(index), index]));
    const instance = (key: string) => (keys.has(key) ? ({ value: { group: 'g' } } as ReturnType<OwnershipInput['instance']>) : undefined);
    return { nodes, registration, instancesVersion: version, instance };
  }

  const keyOfVm = (index: number): string => {
    const parsed = parseProviderId(id(`vm${index}`));
    return parsed.ok ? parsed.ref.key : '';
  };
  const nodesOf = (count: number): OwnershipInput['nodes'] =>
    new Map(Array.from({ length: count }, (_, index) => [`n${index}`, aNode({ name: `n${index}`, providerId: id(`vm${index}`) })]));

  it('that was prepared in slices needs no second look', () => {
    const owners = new OwnershipIndex({ subscriptionId: 's', nodeResourceGroup: 'r' });
    const now = input(1, nodesOf(100), new Set([1, 2]));
    const prepared = owners.prepare(() => now);
    expect(Array.from({ length: 50 }, () => prepared.next().done)).not.toContain(true);
    const ownership = finishAtOnce(prepared);
    expect([owners.resolve(now) === ownership, owners.searches, ownership?.groupOfNode.size]).toEqual([true, 100, 2]);
  });

  it('is never wrong, whatever changes while it is prepared', () => {
    const change = fc.record({ after: fc.nat(12), listed: fc.uniqueArray(fc.nat(9)), nodes: fc.nat(10) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const owners = new OwnershipIndex({ subscriptionId: 's', nodeResourceGroup: 'r' });
        let now = input(1, nodesOf(10), new Set([0, 1]));
        for (const [round, { after, listed, nodes }] of changes.entries()) {
          const asked = now.nodes;
          const prepared = owners.prepare(() => ({ ...now, nodes: asked }));
          for (let step = 0; step < after; step++) prepared.next();
          now = input(round + 2, nodesOf(nodes), new Set(listed));
          finishAtOnce(prepared);
          const fresh = new OwnershipIndex({ subscriptionId: 's', nodeResourceGroup: 'r' });
          expect(owners.resolve(now)).toEqual(fresh.resolve(now));
        }
      }),
      { seed: 18, numRuns: 100 },
    );
  });
});
