import { describe, expect, it } from 'vitest';
import { groupNews } from '../../src/loop/group-news.ts';
import { aGroup } from '../support/builders.ts';
import { aStage } from './support.ts';

describe('groups that are left alone', () => {
  it('are told when it begins, not again while it lasts, and when it is over', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0, frozen: 'there is no such scale set' }), aGroup({ id: 'b', target: 0 })],
    });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.lines).toMatchObject([{ level: 'warn', nodeGroup: 'a', reason: 'there is no such scale set' }]);

    const report = await stage.runOnce();
    const listen = groupNews(stage.deps.log);
    const withReason = (frozen: string | undefined) => {
      if (report.observation === undefined) throw new Error('observed nothing');
      const groups = [{ ...aGroup({ id: 'a' }), frozen }];
      return { ...report, observation: { ...report.observation, cloud: { ...report.observation.cloud, groups } } };
    };
    for (const frozen of ['read 70 s ago', 'read 80 s ago', undefined, undefined]) listen(withReason(frozen));
    expect(stage.lines.slice(1)).toMatchObject([
      { level: 'warn', reason: 'read 70 s ago' },
      { level: 'info', nodeGroup: 'a' },
    ]);
  });

  it('no group at all is worth a warning, once', async () => {
    const stage = aStage({ groups: [] });
    await stage.runOnce();
    await stage.runOnce();
    expect(stage.lines.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
      'warn there is no node group: none is named and no scale set has the tags',
    ]);
  });
});
