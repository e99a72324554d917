/** What another autoscaler says, read from the simulated cluster with the real client. */
import { beforeEach, describe, expect, it } from 'vitest';
import { setConnectedStage, type ConnectedStage, type Replica } from '../kubernetes/connected-stage.ts';
import { aDeployment } from '../../world/test/simulator/cluster/stage.ts';

let stage: ConnectedStage;
let replica: Replica;

beforeEach(async () => {
  stage = await setConnectedStage();
  replica = await stage.connect();
});

const say = (component: string, reason: string): void => {
  const [pod] = stage.cluster.store.pods().filter(({ metadata }) => metadata.namespace === 'default');
  if (pod === undefined) throw new Error('no pod');
  stage.cluster.recordEvent(pod, { type: 'Normal', reason, message: 'x'.repeat(1_000), component });
};

describe('events of another autoscaler', () => {
  it('are read by its component and from a time on, with long messages cut', async () => {
    stage.cluster.apply(aDeployment('web', 1));
    stage.clock.advance(10_000);
    say('cluster-autoscaler', 'TriggeredScaleUp');
    say('aks-autoscaler', 'Ours');
    const said = await replica.kubernetes.foreignEvents('cluster-autoscaler', 0, stage.signal);
    expect(said).toEqual([
      {
        atMs: expect.any(Number),
        about: expect.stringMatching(/^Pod default\/web-/),
        reason: 'TriggeredScaleUp',
        message: 'x'.repeat(300),
      },
    ]);
    expect(await replica.kubernetes.foreignEvents('cluster-autoscaler', said[0]?.atMs ?? 0, stage.signal)).toEqual([]);
  });

  it.each([
    [403, 0],
    [500, 1],
  ])('that a %i withholds are left out, and are read again only if that may pass', async (status, later) => {
    stage.cluster.apply(aDeployment('web', 1));
    stage.clock.advance(10_000);
    say('cluster-autoscaler', 'TriggeredScaleUp');
    stage.cluster.control.failNext(1, status, { verb: 'list', resource: 'events' });
    const read = () => replica.kubernetes.foreignEvents('cluster-autoscaler', 0, stage.signal);
    expect(await read()).toEqual([]);
    expect(await read()).toHaveLength(later);
  });
});
