/** What the page is made from, gathered from the parts of a daemon. */
import { describe, expect, it } from 'vitest';
import { ApiInput } from '../../../src/cli/serving/api-input.ts';
import { rowKey } from '../../../src/planning/explain/removal-advice/waste.ts';
import { RememberedAdvice } from '../../../src/planning/explain/advice/remembered-advice.ts';
import { Turns } from '../../../src/lib/slices.ts';
import { documentInput } from '../../api/support.ts';
import { aGroup, anInstance, aNode, START_MS } from '../../support/builders.ts';
import { configOf } from '../../config/support.ts';
import { aPolicy } from '../../support/policy.ts';

/** An idle node that only the minimum of its pool keeps. */
async function stage(pause: () => Promise<void> = async () => undefined) {
  const group = aGroup({ id: 'a', minSize: 1, target: 1, instances: [anInstance({ node: 'a-0' })] });
  const policy = aPolicy({ scaleDown: { unneededForMs: 0, delayAfterAddMs: 0 } });
  const made = await documentInput({ groups: [group], nodes: [aNode({ name: 'a-0' })], policy, loops: 2 });
  const clock = { nowMs: 0, monotonic: () => (clock.nowMs += 1) };
  const input = new ApiInput({
    config: configOf({}),
    policy: () => policy,
    report: () => made.report,
    decided: () => made.pods,
    removals: () => made.stage.records.findLast(({ scaleDown }) => scaleDown !== undefined),
    clock,
    turns: new Turns({ clock, sliceMs: 1, pause }),
    advice: new RememberedAdvice(clock),
    agents: () => [],
    store: () => undefined,
    history: made.history,
    replica: () => ({ name: 'r', startedAtMs: START_MS, leadsSinceMs: START_MS, configuration: { generation: 1, sinceMs: START_MS } }),
  });
  return { input };
}

describe('the input of the page', () => {
  it('has what frees the nodes once that is simulated, while other work has its turn', async () => {
    let pauses = 0;
    const { input } = await stage(async () => void (pauses += 1));
    expect(input.current()?.wasteFixes).toBeUndefined();

    await input.prepare();

    expect(pauses).toBeGreaterThan(1);
    expect(input.current()?.wasteFixes?.get(rowKey({ reason: 'NodeGroupMinSizeReached', blockedBy: undefined }))?.text).toBe(
      'lower the minimum of a from 1 to 0',
    );
    expect(input.current()).toBe(input.current());
    expect(input.current()?.repackEstimate).toMatchObject({ nodes: 1, needed: 1, sets: [] });
  });

  it('is simulated once for all who ask at the same time', async () => {
    let pauses = 0;
    const { input } = await stage(async () => void (pauses += 1));
    await input.prepare();
    const alone = pauses;
    const other = await stage(async () => void (pauses += 1));
    await Promise.all([other.input.prepare(), other.input.prepare(), other.input.prepare()]);
    expect(pauses).toBe(2 * alone);
  });
});
