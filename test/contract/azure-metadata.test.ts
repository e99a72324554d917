/** The subscription and the region told by the machine itself, against a metadata endpoint that speaks plain http like a machine's own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSubscriptionAndRegion, type MetadataDeps, type SubscriptionRegion } from '../../src/azure/instance-metadata.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { startArmEmulator, type ArmEmulator } from '../../world/simulator/arm/emulator.ts';
import { VirtualSimClock } from '../../world/simulator/base/sim-clock.ts';
import { createServerTls } from '../../world/simulator/base/tls.ts';
import { ViolationLog } from '../../world/simulator/base/write-safety.ts';
import { SPEC } from '../azure/meeting.ts';
import { START_MS } from '../support/builders.ts';

let arm: ArmEmulator;
let endpoint = '';
beforeAll(async () => {
  const tls = await createServerTls(Date.now());
  arm = await startArmEmulator({ spec: SPEC, clock: new VirtualSimClock(START_MS), tls, violations: new ViolationLog() });
  endpoint = await arm.startMetadata();
});
afterAll(() => arm.stop());

/** Counts the waits and does not wait. */
function impatient() {
  const waits: number[] = [];
  return { waits, sleep: (ms: number) => Promise.resolve(void waits.push(ms)) };
}

const NOWHERE = { subscriptionId: undefined, location: undefined, nodeResourceGroup: undefined };
const placeOfMachine = (question: MetadataDeps): Promise<SubscriptionRegion> => findSubscriptionAndRegion(NOWHERE, question);
const HERE = { subscriptionId: SPEC.subscriptionId, location: SPEC.location, nodeResourceGroup: SPEC.nodeResourceGroup };

const refused = async (work: Promise<unknown>): Promise<AutoscalerError> => {
  const thrown: unknown = await work.catch((error: unknown) => error);
  if (thrown instanceof AutoscalerError) return thrown;
  throw new Error('it was meant to be refused');
};

const ONE_SENTENCE = /^azure\.subscriptionId \(ARM_SUBSCRIPTION_ID\) is not set, and [^\n]+; [^\n]+ elsewhere\.$/;

describe('subscription and region from instance metadata', () => {
  it.each([
    ['subscription', { subscriptionId: 's' }],
    ['region', { location: 'l' }],
    ['resource group', { nodeResourceGroup: 'MC_x' }],
  ])('keeps a configured %s and reads the rest', async (_what, known) => {
    expect(await findSubscriptionAndRegion({ ...NOWHERE, ...known }, { endpoint, clock: impatient() })).toEqual({ ...HERE, ...known });
  });

  it('reads nothing if all are configured, and names the region setting if only the region is missing', async () => {
    const nobody = { endpoint: 'http://127.0.0.1:1', clock: impatient() };
    const known = { subscriptionId: 's', location: 'l', nodeResourceGroup: 'MC_x' };
    expect(await findSubscriptionAndRegion(known, nobody)).toEqual(known);
    const error = await refused(findSubscriptionAndRegion({ ...known, location: undefined }, nobody));
    expect(error.message).toMatch(/^azure\.location \(LOCATION\) is not set, and [^\n]+; [^\n]+ elsewhere\.$/);
  });

  it('reads both from the metadata endpoint', async () => {
    const clock = impatient();
    expect(await placeOfMachine({ endpoint, clock })).toEqual(HERE);
    expect(clock.waits).toEqual([]);
  });

  it('retries while the endpoint is busy or being updated', async () => {
    for (const [id, status] of [
      ['busy', 429],
      ['renewed', 410],
      ['broken', 500],
    ] as const) {
      arm.control.addFault({ id, match: { pathGlob: '/metadata/instance/**', times: 1 }, effect: { kind: 'answer', status } });
    }
    const clock = impatient();
    expect(await placeOfMachine({ endpoint, clock })).toEqual(HERE);
    expect(clock.waits).toEqual([1_000, 2_000, 4_000]);
  });

  it('fails if the endpoint stays broken', async () => {
    arm.control.addFault({ id: 'broken', match: { pathGlob: '/metadata/instance/**' }, effect: { kind: 'answer', status: 503 } });
    const error = await refused(placeOfMachine({ endpoint, clock: impatient() }));
    arm.control.removeFault('broken');
    expect(error.kind).toBe('config');
    expect(error.message).toMatch(ONE_SENTENCE);
    expect(error.message).toContain('returned HTTP 503');
  });

  it.each([
    { what: 'the port is closed', answer: undefined, says: 'does not respond' },
    { what: 'it is another service', answer: '<html></html>', says: 'did not return it' },
    { what: 'the subscription is empty', answer: '{"subscriptionId":""}', says: 'did not return it' },
  ])('fails with one sentence if $what', async ({ answer, says }) => {
    const server = createServer((_, response) => response.end(answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
    if (answer === undefined) await close();
    const clock = impatient();
    const error = await refused(placeOfMachine({ endpoint: `http://127.0.0.1:${port}`, clock }));
    if (answer !== undefined) await close();
    expect(error.kind).toBe('config');
    expect(error.message).toMatch(ONE_SENTENCE);
    expect(error.message).toContain(says);
    expect(clock.waits).toEqual([]);
  });

  it('does not wait after the signal fired', async () => {
    const ended = AbortSignal.abort();
    expect((await refused(placeOfMachine({ endpoint, clock: impatient(), signal: ended }))).kind).toBe('cancelled');
  });

  it('the endpoint answers only who says that it knows what it asks', async () => {
    const ask = (path: string, headers: Record<string, string>) => fetch(`${endpoint}${path}`, { headers });
    expect((await ask('/metadata/instance/compute?api-version=2021-02-01', {})).status).toBe(400);
    expect((await ask('/metadata/instance/compute', { metadata: 'true' })).status).toBe(400);
    const whole = await ask('/metadata/instance?api-version=2021-02-01', { metadata: 'true' });
    expect(await whole.json()).toMatchObject({ compute: { subscriptionId: SPEC.subscriptionId, location: 'westeurope' } });
  });
});
