import { expect, it } from 'vitest';
import { aGroup, aNode, START_MS } from '../support/builders.ts';
import { aPolicy } from '../support/policy.ts';
import { aStage } from './support.ts';

it('a process that begins with many nodes due removes half of what a window allows, and as many again when the window is over', async () => {
  const rules = { unneededForMs: 0, delayAfterDeleteMs: 0, maxParallel: 10, maxRemovalsPerWindow: 4, removalWindowMs: 600_000 };
  const nodes = Array.from({ length: 8 }, (_, index) => aNode({ name: `g-${index}` }));
  const policy = aPolicy({ scaleUp: { enforceMinSize: false }, scaleDown: rules });
  const stage = aStage({ nodes, groups: [aGroup({ id: 'g', target: 8, minSize: 0 })], policy });
  const begun = async (): Promise<number> => (await stage.runOnce()).removed.filter(({ kind }) => kind === 'started').length;
  expect(await begun()).toBe(0);
  await stage.clock.advance(10_000);
  expect(await begun()).toBe(2);
  await stage.clock.advance(300_000);
  expect(await begun()).toBe(0);
  await stage.clock.advance(START_MS + 600_001 - stage.clock.now());
  expect(await begun()).toBe(2);
});
