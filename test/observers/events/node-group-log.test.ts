import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { CloudEvent } from '../../../src/domain/observation.ts';
import { nodeGroupLog } from '../../../src/observers/events/node-group-events.ts';
import { aGroup } from '../../support/builders.ts';
import { aStage } from '../../loop/support.ts';

describe('frozen groups', () => {
  it('are reported at the start, at a new reason and at the end, but not as the age grows', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0, frozen: 'there is no such scale set' }), aGroup({ id: 'b', target: 0 })],
    });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.lines).toMatchObject([{ level: 'warn', nodeGroup: 'a', reason: 'there is no such scale set' }]);

    const report = await stage.runOnce();
    const listen = nodeGroupLog(stage.deps.log);
    const withReason = (frozen: string | undefined) => {
      if (report.observation === undefined) throw new Error('observed nothing');
      const groups = [aGroup({ id: 'a', frozen })];
      return { ...report, observation: { ...report.observation, cloud: { ...report.observation.cloud, groups } } };
    };
    for (const frozen of ['read 70 s ago', 'read 80 s ago', 'being deleted', undefined, undefined]) listen(withReason(frozen));
    expect(stage.lines.slice(1)).toMatchObject([
      { level: 'warn', reason: 'read 70 s ago' },
      { level: 'warn', reason: 'being deleted' },
      { level: 'info', nodeGroup: 'a' },
    ]);
  });

  it('appear, disappear and change their limits, each reported once', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })] });
    const report = await stage.runOnce();
    const listen = nodeGroupLog(stage.deps.log);
    const look = (groups: readonly NodeGroup[], events: readonly CloudEvent[] = []): void => {
      if (report.observation === undefined) throw new Error('observed nothing');
      listen({ ...report, observation: { ...report.observation, cloud: { ...report.observation.cloud, groups, events } } });
    };
    const [a, b] = [nodeGroupId('a'), nodeGroupId('b')];
    look([aGroup({ id: 'a', minSize: 0, maxSize: 3 })]);
    look(
      [aGroup({ id: 'a', minSize: 1, maxSize: 5 }), aGroup({ id: 'b', minSize: 2, maxSize: 4 })],
      [{ kind: 'group-appeared', group: b, atMs: 1 }],
    );
    look([aGroup({ id: 'b', minSize: 2, maxSize: 4 })], [{ kind: 'group-vanished', group: a, atMs: 2 }]);
    look([aGroup({ id: 'b', minSize: 2, maxSize: 4 })]);
    expect(stage.lines).toMatchObject([
      { level: 'info', nodeGroup: 'b', min: 2, max: 4, msg: 'Node group appeared' },
      { level: 'info', nodeGroup: 'a', from: '0:3', to: '1:5', msg: 'Node group limits changed' },
      { level: 'info', nodeGroup: 'a', msg: 'Node group disappeared' },
    ]);
  });

  it('no group at all is worth a warning, once', async () => {
    const stage = aStage({ groups: [] });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
      'warn No node group found: none is named and no scale set has the discovery tags',
    ]);
  });
});
