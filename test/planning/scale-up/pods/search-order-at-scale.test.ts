/** The same at the size of the largest clusters: see also `npm run bench -- mixed`. */
import { expect, it } from 'vitest';
import type { LoopState } from '../../../../src/domain/loop-state.ts';
import { waitedGroups } from '../../../../src/planning/scale-down/full-groups.ts';
import { planScaleUp } from '../../../../src/planning/scale-up/plan.ts';
import { rememberStop } from '../../../../src/planning/state/stopped-plans.ts';
import { aGroup, aNode, aPod, resourceNames, START_MS } from '../../../support/builders.ts';
import { inputFor, verdictOf } from '../world.ts';
import { aState } from '../../../support/state.ts';

it('20,000 pods of one team that nothing can hold, at 5,000 nodes: another team is served within two loops, and removals go on', () => {
  const nodes = Array.from({ length: 5_000 }, (_, at) => aNode({ name: `n-${at}`, cpu: '2' }));
  const noise = Array.from({ length: 20_000 }, (_, at) => {
    const shape = { namespace: 'team-a', nodeSelector: { nowhere: `x${at}` } };
    return aPod({ name: `noise-${at}`, namespace: 'team-a', createdAtMs: START_MS - 600_000, shape });
  });
  const web = aPod({ name: 'web', namespace: 'team-b', shape: { namespace: 'team-b', cpu: '3' } });
  const groups = [aGroup({ id: 'a', target: 0, maxSize: 9 })];
  const input = inputFor({ groups, nodes, pods: [...noise, web], isLate: (_made, searches = 0) => searches >= 500 });
  const { observation } = input;
  let state: LoopState = aState();
  const served: boolean[] = [];
  for (const loopId of [1, 2]) {
    const plan = planScaleUp({ ...input, state, observation: { ...observation, loopId } });
    served.push(verdictOf(plan, web)?.kind === 'triggered');
    expect(plan.searchedUntilLate).toBe(500);
    expect([...waitedGroups(plan, { observation, names: resourceNames })]).toEqual([]);
    state = rememberStop(state, plan, loopId);
  }
  expect(served).toContain(true);
  expect(state.stopped?.searched.length).toBeGreaterThan(900);
});
