// node --test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWorld } from 'aks-autoscaler/world';

test('a pool that another writer scales has ready nodes two minutes later', async () => {
  const world = await startWorld({
    pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 10 }],
    clock: { virtual: true },
  });
  try {
    world.addPods({ name: 'web', count: 12, cpu: '900m' });
    // Here your program would see pending pods, and write the capacity: its clients use world.environment(dir).
    world.raise({ foreignScale: { pool: 'general', to: 4 } });
    await world.until(() => world.pool('general').ready === 4, { withinMs: 5 * 60_000, what: 'Four ready nodes' });
    assert.equal(world.pods().pending.length, 0);
    world.assertSafe();
  } finally {
    await world.stop();
  }
});
