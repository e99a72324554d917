/** A waiting pod is not written for each node that comes, and is bound to the first that it fits on. */
import { expect, it } from 'vitest';
import { aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;

const READY_MS = 15_000;

function refusalOf(name: string): string | undefined {
  const pod = stage.cluster.store.pods().find(({ metadata }) => metadata.name === name);
  return pod?.status.conditions?.find(({ type }) => type === 'PodScheduled')?.message;
}

it('the refusal of a pod is written again after 1, 2, 4, 8 and then 10 s, at last with the present reason', async () => {
  stage = await setStage([aMachine('first')]);
  const writtenAt: number[] = [];
  stage.cluster.onChange(({ storage, object }) => {
    if (storage === 'pods' && object.metadata.name === 'large') writtenAt.push(stage.clock.now());
  });
  stage.cluster.apply(aPodDraft('large', { cpu: '100' }));
  const createdMs = stage.clock.now();
  for (let second = 0; second < 40; second++) {
    stage.park.boot(aMachine(`node-${String(second).padStart(2, '0')}`));
    stage.clock.advance(1_000);
  }
  stage.clock.advance(READY_MS + 10_000);
  const [, , ...later] = writtenAt;
  expect(later.map((at) => (at - createdMs) / 1000)).toEqual([1, 3, 7, 15, 25, 35, 45, 55]);
  expect(refusalOf('large')).toMatch(/^0\/41 nodes are available: 41 Insufficient cpu/);
});

it('a pod whose refusal may not be written yet is bound at once when it fits', async () => {
  stage = await setStage([aMachine('small', { vcpus: 2 })]);
  stage.cluster.apply(aPodDraft('web', { cpu: '3' }));
  stage.clock.advance(8_000);
  stage.park.boot(aMachine('large'));
  stage.clock.advance(READY_MS - 1);
  expect(refusalOf('web')).toContain('Insufficient cpu');
  stage.clock.advance(1);
  expect(stage.cluster.store.pods().find(({ metadata }) => metadata.name === 'web')?.spec.nodeName).toBe('large');
});
