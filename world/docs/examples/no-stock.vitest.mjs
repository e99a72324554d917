// vitest
import { afterEach, expect, it } from 'vitest';
import { startWorld } from 'aks-autoscaler/world';

let world;
afterEach(() => world.stop());

it('a size without stock gives no VM, and Azure says why', async () => {
  world = await startWorld({ pools: [{ name: 'gpu', vmSize: 'Standard_NC4as_T4_v3', count: 0, min: 0, max: 4 }], clock: { virtual: true } });
  world.setStock('Standard_NC4as_T4_v3', 1);
  world.raise({ foreignScale: { pool: 'gpu', to: 2 } });
  await world.until(() => world.pool('gpu').ready === 1);
  await world.clock.advance(20 * 60_000);
  expect(world.pool('gpu')).toMatchObject({ capacity: 2, ready: 1 });
  expect(world.journal().filter(({ method }) => method === 'EVENT')).not.toHaveLength(0);
});
