/** Instance views beside a list of machines: which are read, and what a list without them leaves as it was. */
import { describe, expect, it } from 'vitest';
import { meet, SPEC } from '../meeting.ts';
import { PLAIN_DELETE } from '../../../src/domain/ports/cloud.ts';
import { stoppedInstances } from '../../../src/domain/node-group.ts';

const MINUTE = 60_000;
const SIZE = 'Standard_D4s_v5';

describe('more stopped machines than views are read with one list', () => {
  it('stay stopped in the view, list after list', async () => {
    const pool = { name: 'many', kind: 'vms-pool', vmSize: SIZE, count: 26, min: 1, max: 30, scaleDownMode: 'Deallocate' } as const;
    const m = await meet({ deallocate: true, maxStoppedInstances: 30 }, { ...SPEC, pools: [pool] });
    await m.pass(10_000);
    const { id, instances = [] } = m.group('many');
    const keys = instances.slice(0, 24).map(({ key }) => key);
    await m.drive(
      m.azure.deleteInstances({ ...PLAIN_DELETE, group: id, instances: keys, mayStop: new Set(keys), allowBelowMin: false }, m.signal),
    );
    const seen: number[] = [];
    await m.pass(10 * MINUTE);
    for (let step = 0; step < 6; step++) {
      await m.pass(MINUTE);
      seen.push(stoppedInstances(m.group('many')).length);
    }
    expect(seen).toEqual([24, 24, 24, 24, 24, 24]);
    expect(m.group('many').target).toMatchObject({ known: true, value: 2 });
  });
});
