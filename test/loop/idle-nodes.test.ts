/** A load of a thousand nodes that ended, under the daemon's own defaults. `npm run soak -- --idle 1000` shows it with the real clients. */
import { expect, it } from 'vitest';
import { configOf } from '../config/support.ts';
import { aGroup, aNode, START_MS } from '../support/builders.ts';
import { aStage } from './support.ts';

const MINUTE = 60_000;
const NODES = 1_000;

it('a thousand idle nodes are gone within 30 minutes', async () => {
  const { policy } = configOf({});
  const nodes = Array.from({ length: NODES }, (_, index) => aNode({ name: `g-${index}` }));
  const stage = aStage({ nodes, groups: [aGroup({ id: 'g', target: NODES, minSize: 0, maxSize: NODES })], policy });
  while (stage.cluster.nodes.size > 0 && stage.clock.now() < START_MS + 30 * MINUTE) {
    await stage.runOnce();
    await stage.clock.advance(10_000);
    for (const name of stage.cloud.finishDeletions()) stage.cluster.removeNode(name);
  }
  expect(stage.cluster.nodes.size).toBe(0);
});
