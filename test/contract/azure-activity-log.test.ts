/** Who else changed a capacity, by the name in the activity log (`azure.activityLog`): over HTTPS with the real clients. */
import { expect, it } from 'vitest';
import type { CloudEvent } from '../../src/domain/observation.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';

const ON = { activityLog: true };
const MINUTE = 60_000;
/** The meetings are longer than an hour. */
const LONG_TOKENS = { tokenLifetimeSeconds: 24 * 3_600 };
/** What the role for nodes allows, and the subscription's reads. */
const ROLE = ['Microsoft.Compute/*', 'Microsoft.ContainerService/*'];

const asked = (m: Meeting): number => m.arm.control.journal().filter(({ path }) => path.includes('eventtypes')).length;
type Kind = CloudEvent['kind'];
const eventsOf = (m: Meeting, kind: Kind): readonly CloudEvent[] => m.events.filter((event) => event.kind === kind);

async function passAndLook(m: Meeting, minutes: number): Promise<void> {
  await m.pass(minutes * MINUTE);
  m.groups();
}

it('names the writer of a change, once the log has it', async () => {
  const m = await meet(ON);
  await m.increase(m.group('general'), 2);
  await passAndLook(m, 5);
  m.arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
  await passAndLook(m, 2);
  const [change] = eventsOf(m, 'external-change');
  expect(change).toMatchObject({ from: 3, to: 5 });
  await passAndLook(m, 3);
  // Asked once: the log did not have the write yet.
  expect([asked(m), eventsOf(m, 'change-attributed').length]).toEqual([1, 0]);
  await passAndLook(m, 40);
  expect(eventsOf(m, 'change-attributed')).toEqual([
    expect.objectContaining({ group: m.group('general').id, from: 3, to: 5, changedAtMs: change?.atMs, by: 'foreign-writer' }),
  ]);
  expect(asked(m)).toBe(2);
});

it('names the writer of a pool of type VirtualMachines, and not ourselves', async () => {
  const pool = { name: 'machines', kind: 'vms-pool', vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 10 } as const;
  const m = await meet(ON, { ...SPEC, pools: [...SPEC.pools, pool] }, { knobs: LONG_TOKENS });
  await m.increase(m.group('machines'), 1);
  await passAndLook(m, 10);
  m.arm.control.raise({ foreignScale: { pool: 'machines', to: 5 } });
  await passAndLook(m, 45);
  expect(eventsOf(m, 'change-attributed')).toEqual([
    expect.objectContaining({ group: m.group('machines').id, from: 2, to: 5, by: 'foreign-writer' }),
  ]);
});

it('asks nothing for changes of our own, and nothing where it is off', async () => {
  const own = await meet(ON);
  await own.increase(own.group('general'), 2);
  await passAndLook(own, 40);
  expect(asked(own)).toBe(0);
  const off = await meet();
  off.arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
  await passAndLook(off, 40);
  expect([eventsOf(off, 'external-change').length, asked(off)]).toEqual([1, 0]);
});

it('without the right it asks once, and says so once', async () => {
  const m = await meet(ON, { ...SPEC, roleActions: ROLE }, { knobs: LONG_TOKENS });
  for (const to of [5, 7]) {
    m.arm.control.raise({ foreignScale: { pool: 'general', to } });
    await passAndLook(m, 40);
  }
  expect(eventsOf(m, 'external-change')).toHaveLength(2);
  expect(asked(m)).toBe(1);
  expect(m.logLines.filter((line) => line.includes('Activity log not readable'))).toHaveLength(1);
  const allowed = await meet(ON, { ...SPEC, roleActions: [...ROLE, 'Microsoft.Insights/eventtypes/values/Read'] }, { knobs: LONG_TOKENS });
  allowed.arm.control.raise({ foreignScale: { pool: 'general', to: 5 } });
  await passAndLook(allowed, 40);
  expect(eventsOf(allowed, 'change-attributed')).toHaveLength(1);
});

it('beside a writer that changes pools all the time it asks at most twelve times in an hour', async () => {
  const m = await meet(ON, SPEC, { knobs: { ...LONG_TOKENS, activityLogDelayMs: 24 * 60 * MINUTE } });
  const before = m.clock.now();
  for (let turn = 0; turn < 28; turn++) {
    m.arm.control.raise({ foreignScale: { pool: ['general', 'system'][turn % 2] ?? '', to: 3 + (turn % 3) } });
    await passAndLook(m, 2);
  }
  expect(m.clock.now() - before).toBeLessThan(60 * MINUTE);
  expect(asked(m)).toBeGreaterThan(3);
  expect(asked(m)).toBeLessThanOrEqual(12);
});
