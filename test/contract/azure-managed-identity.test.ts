/** Managed identities, with the real credential, against a metadata endpoint that speaks plain http like a machine's own. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { startArmEmulator, type ArmEmulator } from '../../world/simulator/arm/emulator.ts';
import { VirtualSimClock } from '../../world/simulator/base/sim-clock.ts';
import { createServerTls } from '../../world/simulator/base/tls.ts';
import { ViolationLog } from '../../world/simulator/base/write-safety.ts';
import { meet, SPEC } from '../azure/meeting.ts';
import { START_MS } from '../support/builders.ts';

const VARIABLE = 'AZURE_POD_IDENTITY_AUTHORITY_HOST';

/** Its tokens open every emulator of the same world, as they are signed by its seed. */
let endpoint: ArmEmulator;
let url = '';
beforeAll(async () => {
  endpoint = await startArmEmulator({
    spec: SPEC,
    clock: new VirtualSimClock(START_MS),
    tls: await createServerTls(Date.now()),
    violations: new ViolationLog(),
    clients: ['of-the-machine', 'by-client-id', 'by-arm-id'].map((clientId) => ({ clientId, clientSecret: 'secret' })),
  });
  url = await endpoint.startMetadata();
});
afterAll(() => endpoint.stop());
afterEach(() => {
  delete process.env[VARIABLE];
});

const identity = (clientId?: string) => ({ credential: { method: 'managed-identity' as const, clientId } });
const ARM_ID = '/subscriptions/s/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities';

async function refusal(clientId?: string): Promise<AutoscalerError> {
  const thrown: unknown = await meet(identity(clientId)).catch((error: unknown) => error);
  if (thrown instanceof AutoscalerError) return thrown;
  throw new Error('the start was meant to be refused');
}

describe('managed identity', () => {
  it.each([
    ['of the machine itself', undefined, 'of-the-machine'],
    ['assigned by a user, by client id', 'by-client-id', 'by-client-id'],
    ['assigned by a user, by ARM id', `${ARM_ID}/by-arm-id`, 'by-arm-id'],
  ])('%s: reads and writes with its token', async (_, clientId, principal) => {
    process.env[VARIABLE] = url;
    const m = await meet(identity(clientId));
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 2 });
    expect(new Set(m.arm.control.journal().map((entry) => entry.principal))).toEqual(new Set([principal]));
  });

  it('one that the machine has not got ends the start with one sentence', async () => {
    process.env[VARIABLE] = url;
    const error = await refusal('nobody');
    expect(error.kind).toBe('auth');
    expect(error.message).toMatch(/^Cannot sign in to Azure for [^\n]+ this VM has no such managed identity; assign it to the VM[^\n]+\.$/);
  });
});
