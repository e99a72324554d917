/** The condition of a capacity write, where its tag is missing, outlived, or cannot be read anew. */
import { describe, expect, it } from 'vitest';
import type { AzureOptions } from '../../src/azure/arm/options.ts';
import { refusal, type ArmReply, type ArmRequest, type ScriptedSet } from '../azure/scripted-arm.ts';
import { rig, USER_POOL, type Rig } from '../azure/rig.ts';

type Answer = (request: ArmRequest, r: Rig) => ArmReply | undefined;

async function started(intercept: Answer, rest: Partial<AzureOptions> = {}): Promise<{ r: Rig; set: ScriptedSet }> {
  const r = await rig(rest);
  const set = r.arm.addSet(USER_POOL, 3);
  r.arm.intercept = (request) => intercept(request, r);
  await r.azure.start(r.signal);
  return { r, set };
}

const isList = ({ method, path }: ArmRequest): boolean => method === 'GET' && path.endsWith('virtualmachinescalesets');
const isSet = ({ method, path }: ArmRequest): boolean => method === 'GET' && path.endsWith(USER_POOL);

/** The usual answer without any tag in it. */
function untagged(request: ArmRequest, r: Rig): ArmReply {
  const reply = r.arm.route(request);
  return { ...reply, headers: {}, body: JSON.parse(JSON.stringify(reply.body).replace(/"etag":"[^}]*?\\"",/g, '')) as unknown };
}

/** Reads and writes of the set itself, in order: what each was conditional on. */
function calls(r: Rig): readonly string[] {
  const own = r.arm.requests.filter(({ path }) => path.endsWith(USER_POOL));
  return own.map(({ method, headers }) => `${method} ${headers['if-match'] ?? '-'}`);
}

describe('a write without a known tag', () => {
  it('reads the set first and is conditional on what that says', async () => {
    const { r, set } = await started((request, at) => (isList(request) ? untagged(request, at) : undefined));
    set.etag = 7;
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'accepted', target: 5 });
    expect(calls(r).slice(0, 2)).toEqual(['GET -', 'PUT "7"']);
  });

  it('is planned again if that read shows another size', async () => {
    const { r, set } = await started((request, at) => (isList(request) ? untagged(request, at) : undefined));
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 4);
    expect(await r.increase(USER_POOL, 5, before)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 4 });
    expect(r.arm.sent('PUT', USER_POOL)).toEqual([]);
  });

  it('is not made when that read fails', async () => {
    const { r } = await started((request, at) => {
      if (isList(request)) return untagged(request, at);
      return isSet(request) ? refusal(500, 'InternalServerError', 'm') : undefined;
    });
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'failed', error: { kind: 'unavailable' } });
    expect(r.arm.sent('PUT', USER_POOL)).toEqual([]);
  });

  it('is not made if Azure returns no etag at all: the group is held, without dangerous advice, and read once a minute', async () => {
    let silent = true;
    const tagless: Answer = (request, at) => (silent && (isList(request) || isSet(request)) ? untagged(request, at) : undefined);
    const { r, set } = await started(tagless);
    const reason: unknown = expect.stringMatching(/no entity tag(?!.*AZURE_ENABLE_VMSS_ETAG)/);
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'refused', reason });
    expect([r.group(USER_POOL).growthHeld, r.group(USER_POOL).frozen]).toEqual([reason, undefined]);
    expect(calls(r)).toEqual(['GET -']);
    await r.pass(61_000);
    expect(r.group(USER_POOL).growthHeld).toBeUndefined();
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'refused', reason });
    silent = false;
    await r.azure.refresh(r.group(USER_POOL).id, r.signal);
    expect(r.group(USER_POOL).growthHeld).toBeUndefined();
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'accepted', target: 5 });
    expect(set.capacity).toBe(5);
  });

  it('is made if conditions are turned off', async () => {
    const tagless: Answer = (request, at) => (isList(request) || isSet(request) ? untagged(request, at) : undefined);
    const { r, set } = await started(tagless, { enableVmssEtag: false });
    expect(await r.increase(USER_POOL, 5)).toMatchObject({ kind: 'accepted', target: 5 });
    expect([calls(r).slice(0, 2), set.capacity]).toEqual([['GET -', 'PUT -'], 5]);
  });

  it('is made over a read just before it when conditions are turned off, and not over what others wrote', async () => {
    const { r, set } = await started(() => undefined, { enableVmssEtag: false });
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 7);
    expect(await r.increase(USER_POOL, 5, before)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 7 });
    expect([calls(r), set.capacity]).toEqual([['GET -'], 7]);
    expect(await r.increase(USER_POOL, 9)).toMatchObject({ kind: 'accepted', target: 9 });
    expect(calls(r).slice(1, 3)).toEqual(['GET -', 'PUT -']);
  });
});

describe('a write that loses its race', () => {
  it('and cannot be read after it is a conflict all the same: not tried again, and the size is not confirmed', async () => {
    let lost = false;
    const { r, set } = await started((request) => {
      if (request.method === 'PUT') lost = true;
      return lost && isSet(request) ? refusal(503, 'ServiceUnavailable', 'm') : undefined;
    });
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 6);
    expect(await r.increase(USER_POOL, 5, before)).toMatchObject({ kind: 'conflict' });
    expect(r.arm.sent('PUT', USER_POOL)).toHaveLength(1);
    expect(set.capacity).toBe(6);
    r.arm.intercept = () => undefined;
    await r.pass(70_000);
    expect(r.group(USER_POOL).target).toMatchObject({ value: 6, confirmed: true });
  });

  it.each([
    [412, 'PreconditionFailed'],
    [409, 'Conflict'],
    [409, 'OperationPreempted'],
    [409, 'AnotherOperationInProgress'],
  ])('%d %s: reads the set once, lowers nothing, and the next plan goes by what is there', async (status, code) => {
    const { r, set } = await started((request) => (request.method === 'PUT' && set.etag < 3 ? refusal(status, code, 'm') : undefined));
    const before = r.group(USER_POOL);
    r.arm.setCapacity(set, 5);
    expect(await r.increase(USER_POOL, 4, before)).toEqual({ kind: 'conflict', group: USER_POOL, observed: 5 });
    expect(calls(r)).toEqual(['PUT "1"', 'GET -']);
    expect(set.capacity).toBe(5);
    set.etag = 3;
    await r.azure.refresh(r.group(USER_POOL).id, r.signal);
    expect(await r.increase(USER_POOL, 6)).toMatchObject({ kind: 'accepted', target: 6 });
  });
});
