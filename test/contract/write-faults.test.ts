/** What becomes of an increase that Azure answers badly or not at all: the same for each of the three ways to write a capacity. */
import { expect, it } from 'vitest';
import type { FaultEffect } from '../../world/simulator/arm/state/fault-rules.ts';
import type { WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { meet, SPEC, type Meeting } from '../azure/meeting.ts';

const SIZE = 'Standard_D4s_v5';
const POOL = { vmSize: SIZE, count: 3, min: 1, max: 10 };
const THROUGH_AKS = { 'k8s.io_cluster-autoscaler_write-path': 'agentPool' };
/** A pool for each way, named by what is written: the scale set, the count of its agent pool, the sizes of a pool of VMs. */
const POOLS: WorldSpec['pools'] = [
  { ...POOL, name: 'capacity' },
  { ...POOL, name: 'count', tags: THROUGH_AKS },
  { ...POOL, name: 'sizes', kind: 'vms-pool' },
];

/** What Azure itself shows of a pool. */
function shown({ arm }: Meeting, name: string): number | undefined {
  const { sets, agentPools } = arm.control.state();
  const [set, pool] = [sets.find((each) => each.pool === name), agentPools.find((each) => each.name === name)];
  return { capacity: set?.capacity, count: pool?.size, sizes: pool?.sizes?.[SIZE] }[name];
}

function puts({ arm }: Meeting, name: string): number {
  return arm.control.journal().filter(({ method, pool }) => method === 'PUT' && pool === name).length;
}

const answer = (status: number, code: string, message = 'm'): FaultEffect => ({
  kind: 'answer',
  status,
  body: { error: { code, message } },
});
const failed = (detail: object, code?: string) => ({ kind: 'failed', error: { detail, ...(code === undefined ? {} : { code }) } });
const unavailable = (code?: string) => failed({ kind: 'unavailable', effect: 'none' }, code);
const accepted = { kind: 'accepted', target: 4 };

const QUOTA = 'ErrCode_InsufficientVCPUQuota';
const NO_CORES = 'Insufficient regional vcpu quota left for location westeurope.';
const BUSY = 'Operation is not allowed: Another agentpool operation (general - Upgrading) is in progress';

it.each<[answer: string, fault: FaultEffect, outcome: object, shown: 3 | 4]>([
  ['not found', answer(404, 'ResourceNotFound'), failed({ kind: 'not-found' }, 'ResourceNotFound'), 3],
  ['another operation', answer(409, 'OperationNotAllowed', BUSY), { kind: 'refused', busy: true }, 3],
  ['a refusal at this time', answer(409, 'OperationNotAllowed'), failed({ kind: 'conflict' }, 'OperationNotAllowed'), 3],
  ['a concurrent request', answer(409, 'Conflict'), failed({ kind: 'conflict' }, 'Conflict'), 3],
  [
    'no such size here',
    answer(409, 'SkuNotAvailable'),
    failed({ kind: 'out-of-capacity', scope: { vmSize: SIZE, priority: 'Regular' } }, 'SkuNotAvailable'),
    3,
  ],
  ['no cores', answer(400, QUOTA, NO_CORES), failed({ kind: 'quota' }, QUOTA), 3],
  ['another tag', answer(412, 'PreConditionFailed'), { kind: 'conflict', observed: 3 }, 3],
  ['an error of its own', answer(500, 'InternalOperationError'), unavailable('InternalOperationError'), 3],
  ['not available', answer(503, 'ServiceUnavailable'), unavailable('ServiceUnavailable'), 3],
  ['an error of a proxy', { kind: 'answer', status: 502, body: '<html>Bad Gateway</html>' }, unavailable('HTTP 502'), 3],
  ['nothing: the connection is lost before the effect', { kind: 'reset', afterEffect: false }, unavailable(), 3],
  ['nothing: the connection is lost after the effect', { kind: 'reset', afterEffect: true }, accepted, 4],
  ['an error after the effect', { kind: 'effect-then-answer', status: 502 }, accepted, 4],
  ['later than a request may take', { kind: 'delay', ms: 45_000 }, accepted, 4],
  ['half of a body', { kind: 'truncated-body' }, accepted, 4],
  ['no body', { kind: 'empty-body' }, accepted, 4],
  // What is read next corrects it.
  ['a success that is none, with a body that is no document', { kind: 'answer', status: 200, body: 'x' }, accepted, 3],
])('an increase that is answered with %s is sent once, and what Azure shows decides', async (_answer, effect, outcome, after) => {
  const m = await meet({}, { ...SPEC, pools: POOLS });
  // The machines of VMs are asked for once the pools are known.
  await m.pass(2_000);
  for (const { name } of POOLS) {
    m.arm.control.addFault({ id: name, match: { method: 'PUT', pool: name }, effect });
    expect(await m.drive(m.increase(m.group(name), 1)), name).toMatchObject(outcome);
    m.arm.control.removeFault(name);
  }
  await m.pass(5_000);
  for (const { name } of POOLS) {
    const group = m.group(name);
    expect([puts(m, name), shown(m, name), group.target], name).toMatchObject([1, after, { value: after, confirmed: true }]);
  }
  // What took effect is an operation of AKS first, during which a pool is not written; nor is it while AKS does something else.
  if (after === 4) await m.pass(300_000);
  if ('busy' in outcome) {
    for (const { name } of POOLS) expect(m.group(name).frozen, name).toContain(BUSY);
    await m.pass(20_000);
  }
  for (const { name } of POOLS) {
    expect(m.group(name), name).toMatchObject({ frozen: undefined, growthHeld: undefined });
    expect(await m.increase(m.group(name), 1), name).toMatchObject({ kind: 'accepted', target: after + 1 });
    expect(shown(m, name), name).toBe(after + 1);
  }
  expect(m.violations.list()).toEqual([]);
});

it('an increase that Azure throttles is held for as long as Azure says, and is no failure of the pool', async () => {
  const m = await meet({}, { ...SPEC, pools: POOLS });
  await m.pass(2_000);
  for (const { name } of POOLS) {
    const body = { error: { code: 'TooManyRequests', message: 'm' } };
    const effect = { kind: 'answer', status: 429, retryAfterSeconds: 36, body } as const;
    m.arm.control.addFault({ id: name, match: { method: 'PUT', pool: name }, effect });
    expect(await m.increase(m.group(name), 1), name).toMatchObject(failed({ kind: 'throttled', retryAfterMs: 36_000 }));
    m.arm.control.removeFault(name);
    await m.pass(5_000);
    const group = m.group(name);
    expect(group.growthHeld, name).toMatch(/^Azure throttles its writes until 2026-\S+Z: Azure refused put.*: m$/);
    expect(await m.increase(group, 1), name).toMatchObject({ kind: 'refused', busy: true });
    expect([puts(m, name), shown(m, name)], name).toEqual([1, 3]);
    await m.pass(32_000);
    expect(m.group(name).growthHeld, name).toBeUndefined();
    expect(await m.increase(m.group(name), 1), name).toMatchObject({ kind: 'accepted', target: 4 });
  }
});
