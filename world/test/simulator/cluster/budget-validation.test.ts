import { afterEach, expect, it } from 'vitest';
import { type RunningWorld, startWorld } from '../../../simulator/entry/world-entry.ts';

let world: RunningWorld;
afterEach(() => world.stop());

it('a PodDisruptionBudget with both fields is refused, new or changed, and one with either is not', async () => {
  world = await startWorld({ clock: { virtual: true } });
  const budget = (spec: object) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b', namespace: 'default' },
    spec,
  });
  const both = /spec: Invalid value: .*: minAvailable and maxUnavailable cannot be both set/;
  expect(() => world.apply(budget({ minAvailable: 1, maxUnavailable: 1 }))).toThrow(both);
  world.apply(budget({ minAvailable: 1 }));
  expect(() => world.apply(budget({ minAvailable: 1, maxUnavailable: '50%' }))).toThrow(both);
  expect(world.objects('poddisruptionbudgets').find(({ metadata }) => metadata.name === 'b')).toMatchObject({ spec: { minAvailable: 1 } });
  world.apply(budget({ maxUnavailable: 0 }));
});
