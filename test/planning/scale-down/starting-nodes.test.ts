import { expect, it } from 'vitest';
import { aNode, aTemplate, START_MS } from '../../support/builders.ts';
import { aDevicePool } from '../../support/devices.ts';
import { keptReasons, MINUTE, plan, pool, sinceMinutes } from './world.ts';

it.each([
  { name: 'longer than an unready node is kept', startupMinutes: 60, removed: [] },
  { name: 'less long than the node exists', startupMinutes: 25, removed: ['p-0'] },
])('a node that has not been ready since it was made 30 min ago, in a group whose nodes start for $name: $removed', (row) => {
  const node = aNode({
    name: 'p-0',
    createdAtMs: START_MS - 30 * MINUTE,
    readiness: { ready: false, sinceMs: START_MS - 30 * MINUTE, reason: 'NotReady' },
  });
  const group = pool('p', 1, { options: { maxStartupMs: row.startupMinutes * MINUTE } });
  const result = plan({ groups: [group], nodes: [node], state: { unneededSince: sinceMinutes(30, ['p-0']) } });
  expect(result.removals.map((removal) => removal.node)).toEqual(row.removed);
  if (row.removed.length > 0) return;
  expect(keptReasons(result)).toEqual({ 'p-0': 'NotUnreadyLongEnough' });
  expect(result.kept[0]?.recheckAtMs).toBe(START_MS + 30 * MINUTE);
});

it.each([
  { age: 12, removed: [] },
  { age: 16, removed: ['p-0'] },
])('a ready node of $age min whose drivers are still to publish devices: $removed', ({ age, removed }) => {
  const node = aNode({ name: 'p-0', createdAtMs: START_MS - age * MINUTE });
  const group = pool('p', 1, { template: { ...aTemplate(), devicePools: [aDevicePool('t', 4)] } });
  const result = plan({ groups: [group], nodes: [node], state: { unneededSince: sinceMinutes(11, ['p-0']) } });
  expect(result.removals.map((removal) => removal.node)).toEqual(removed);
  if (removed.length === 0) expect(keptReasons(result)).toEqual({ 'p-0': 'NotUnreadyLongEnough' });
});
