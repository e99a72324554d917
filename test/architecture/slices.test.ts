/** Guards where long computations may be interrupted: a file that yields makes every caller above it a generator, too. */
import { expect, it } from 'vitest';
import { codeOf, sources } from './sources.ts';

/** Files with places of their own where other work may have its turn, by what is between two of them. */
const SEAMS: Readonly<Record<string, readonly string[]>> = {
  'kinds of pods, and the pods that are sorted into kinds': [
    'planning/scale-down/usable-groups.ts',
    'planning/scale-up/groups/existing-capacity.ts',
    'planning/scale-up/packing/estimate.ts',
    'planning/scale-up/packing/pack-new-nodes.ts',
    'planning/scale-up/packing/pack-upcoming.ts',
    'planning/scale-up/packing/place-pods.ts',
    'planning/scale-up/plan-result.ts',
    'planning/scale-up/pods/equivalence-groups.ts',
    'scheduling/snapshot/interdependent-shapes.ts',
    'scheduling/snapshot/topology-index.ts',
  ],
  'options that are estimated': [
    'planning/scale-up/packing/expand.ts',
    'planning/scale-up/packing/shared-estimates.ts',
    'planning/scale-up/packing/turn-options.ts',
  ],
  'candidates for removal': [
    'planning/scale-down/repack/repack-candidates.ts',
    'planning/scale-down/repack/repack-check.ts',
    'planning/scale-down/repack/repack-search.ts',
    'planning/scale-down/room/room-sets.ts',
    'planning/scale-down/unneeded.ts',
  ],
  'nodes and groups of the cluster': [
    'azure/groups/node-ownership.ts',
    'azure/view/cloud-view.ts',
    'planning/promises/check-promises.ts',
    'scheduling/snapshot/cluster-snapshot.ts',
  ],
  'events and pods without a plan': ['loop/scale-up/execute.ts', 'planning/explain/scale-up-events.ts'],
  'stages of a plan': ['planning/scale-down/plan.ts', 'planning/scale-up/plan-for-pods.ts'],
  'items of any walk': ['lib/slices.ts'],
};

/** Files between these and the loop: they pass on, and have no such place of their own. */
const PASS_ON: readonly string[] = [
  'planning/explain/advice/advice.ts',
  'planning/explain/advice/remembered-advice.ts',
  'planning/explain/advice/search.ts',
  'planning/explain/advice/simulate.ts',
  'planning/explain/answers/node-answer.ts',
  'planning/explain/removal-advice/remembered-waste.ts',
  'planning/explain/removal-advice/removal-advice.ts',
  'planning/explain/removal-advice/simulate-removals.ts',
  'planning/explain/removal-advice/waste.ts',
  'planning/scale-down/full-groups.ts',
  'planning/scale-down/repack/next-repack.ts',
  'planning/scale-down/repack/repack-estimate.ts',
  'planning/scale-down/repack/repack.ts',
  'planning/scale-down/repack/sick-sets.ts',
  'planning/scale-down/room/room.ts',
  'planning/scale-up/awaited-pods.ts',
  'planning/scale-up/cancelled-increases.ts',
  'planning/scale-up/plan-whole-gangs.ts',
  'planning/scale-up/plan.ts',
  'planning/scale-up/pods/priority-order.ts',
  'planning/state/assumed-pods.ts',
  'scheduling/snapshot/snapshot.ts',
];

const yielding = sources()
  .map(({ path, text }) => ({ path, code: codeOf(text) }))
  .filter(({ code }) => code.includes('SlicedWork') && /\byield\b/.test(code));
const hasSeam = ({ code }: { readonly code: string }): boolean => /\byield;|; yield\)|\bvisitInSlices\(/.test(code);

it('interrupts long computations in the listed files alone', () => {
  expect(pathsOf(yielding.filter(hasSeam))).toEqual(Object.values(SEAMS).flat().sort());
});

it('passes interruptions on in the listed files alone', () => {
  expect(pathsOf(yielding.filter((file) => !hasSeam(file)))).toEqual([...PASS_ON].sort());
});

function pathsOf(files: readonly { readonly path: string }[]): readonly string[] {
  return files.map(({ path }) => path).sort();
}
