/** The explanation of pods that stay pending: after the increases, and never for longer than a loop can spare. */
import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { waitedGroups } from '../../../src/planning/scale-down/full-groups.ts';
import { decideScaleUpInSlices, planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { explainPlanInSlices } from '../../../src/planning/scale-up/plan-result.ts';
import { rememberStop } from '../../../src/planning/state/stopped-plans.ts';
import { aGroup, aPod, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { growth, inputFor, planFor, verdictOf } from './world.ts';
import { aState } from '../../support/state.ts';

const noise = Array.from({ length: 12 }, (_, at) => {
  const namespace = 'team-a';
  return aPod({
    name: `noise-${at}`,
    namespace,
    createdAtMs: START_MS - 600_000,
    shape: { namespace, nodeSelector: { nowhere: `x${at}` } },
  });
});
const other = aPod({ name: 'other', namespace: 'team-b', shape: { namespace: 'team-b', nodeSelector: { nowhere: 'y' } } });
const web = aPod({ name: 'web', cpu: '2' });
const groups = ['a', 'b'].map((id) => aGroup({ id, target: 0, template: aTemplate({ labels: { pool: id } }) }));
const world = { groups, pods: [...noise, other, web] };
const explained = (plan: ScaleUpPlan) => world.pods.filter((pod) => verdictOf(plan, pod)?.kind === 'helpless').map(({ name }) => name);

describe('the increases of a plan', () => {
  it('are decided before any pod is explained, and the explanation changes nothing else', () => {
    const input = inputFor(world);
    const decided = finishAtOnce(decideScaleUpInSlices(input));
    expect([growth(decided), explained(decided)]).toEqual([['a 0->1'], []]);
    const { verdicts, ...rest } = finishAtOnce(explainPlanInSlices(decided));
    const { verdicts: whole, ...plan } = planScaleUp(input);
    expect([rest, verdicts]).toEqual([plan, whole]);
    expect(explained(planScaleUp(input))).toHaveLength(13);
  });
});

describe('the explanation of pods that stay pending', () => {
  /** Of two groups each, so four kinds of pods in each plan. */
  const loops = (count: number, pods: readonly Pod[] = world.pods) => {
    let state: LoopState = aState();
    return Array.from({ length: count }, (_, at) => {
      const plan = planScaleUp({ ...inputFor({ ...world, pods, state, loopId: at + 1 }), mostExplained: 8 });
      state = rememberStop(state, plan, at + 1);
      return { plan, state };
    });
  };

  it('has a limit; the others wait for a later loop, and say so', () => {
    const [{ plan } = { plan: planFor(world) }] = loops(1);
    expect(explained(plan)).toHaveLength(4);
    expect(noise.map((pod) => verdictOf(plan, pod)).filter((verdict) => verdict?.kind === 'waiting')[0]).toMatchObject({
      detail: 'more kinds of pods stay pending than one loop explains: a later loop explains this one',
      leftOut: 'explanation',
    });
    expect(growth(plan)).toEqual(['a 0->1']);
  });

  it('explains one kind of pods at least', () => {
    expect(explained(planScaleUp({ ...inputFor(world), mostExplained: 0 }))).toHaveLength(1);
  });

  it('lets the namespaces take turns', () => {
    const [{ plan } = { plan: planFor({ groups: [] }) }] = loops(1);
    expect(explained(plan)).toContain('other');
  });

  it('goes on where the last plan stopped, until each pod was explained, and then begins again', () => {
    const all = loops(8);
    const counts = [...noise, other].map((pod) => all.filter(({ plan }) => verdictOf(plan, pod)?.kind === 'helpless').length);
    expect(new Set(all.slice(0, 4).flatMap(({ plan }) => explained(plan))).size).toBe(13);
    expect([Math.min(...counts), Math.max(...counts)]).toEqual([2, 3]);
  });

  it('is forgotten once a plan explains all', () => {
    expect(loops(1, noise.slice(0, 4)).map(({ state }) => state.stopped)).toEqual([undefined]);
  });

  it('keeps nodes of full groups alone, as far as a pod that waits for it could use them', () => {
    const full = groups.map((group) => ({ ...group, maxSize: 0 }));
    const pinned = ['x', 'y', 'z'].map((name) => aPod({ name, shape: { cpu: '1', nodeSelector: { pool: 'b' }, labels: { name } } }));
    const input = inputFor({ ...world, groups: full, pods: [...noise, ...pinned] });
    const plan = planScaleUp({ ...input, mostExplained: 0 });
    expect([...waitedGroups(plan, { observation: input.observation, names: resourceNames }).keys()]).toEqual(['b']);
  });
});
