/** Each way to be refused entry, with the real credentials, ends in one sentence that says what to do. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AzureCredentialOptions } from '../../src/azure/arm/options.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { createServerTls } from '../../world/simulator/base/tls.ts';
import { meet } from '../azure/meeting.ts';

/** Federated tokens are judged by the clocks of both sides. */
function assertion(expiresMs: number): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode({ exp: Math.floor(expiresMs / 1000) })}.c2ln`;
}

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sign-in-'));
  await writeFile(join(dir, 'valid'), assertion(Date.UTC(2100, 0)));
  await writeFile(join(dir, 'expired'), assertion(Date.UTC(2001, 0)));
  await writeFile(join(dir, 'empty'), '');
  await writeFile(join(dir, 'cert.pfx'), Buffer.from([0x30, 0x82, 0x0a, 0x01, 0x02]));
  await writeFile(join(dir, 'keyless.pem'), (await createServerTls(Date.now())).certPem);
  await writeFile(join(dir, 'locked.pem'), `${(await createServerTls(Date.now())).certPem}\n${lockedKey()}`);
});
afterAll(() => rm(dir, { recursive: true }));

const secret = (clientId: string, clientSecret: string): AzureCredentialOptions => ({ method: 'client-secret', clientId, clientSecret });
const federated = (file: string): AzureCredentialOptions => ({
  method: 'workload-identity',
  clientId: 'autoscaler',
  tokenFile: join(dir, file),
});

const certificate = (file: string, certificatePassword?: string): AzureCredentialOptions => ({
  method: 'client-certificate',
  clientId: 'autoscaler',
  certificatePath: join(dir, file),
  certificatePassword,
});

function lockedKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'right' }).toString();
}

async function refusal(start: Promise<unknown>): Promise<AutoscalerError> {
  const error = await start.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AutoscalerError)) throw new Error('the start was meant to be refused');
  return error;
}

describe('signing in', () => {
  it('a workload identity reads and writes with the token it got for its assertion', async () => {
    const m = await meet({ credential: federated('valid') });
    expect(await m.increase(m.group('general'), 1)).toMatchObject({ kind: 'accepted', target: 2 });
    expect(new Set(m.arm.control.journal().map(({ principal }) => principal))).toContain('autoscaler');
  });

  it.each([
    { what: 'a wrong secret', credential: () => secret('autoscaler', 'guess'), code: 'AADSTS7000215', says: /client secret is wrong/ },
    { what: 'an unknown application', credential: () => secret('nobody', 'secret'), code: 'AADSTS700016', says: /no application/ },
    { what: 'an expired assertion', credential: () => federated('expired'), code: 'AADSTS700024', says: /token file is renewed/ },
    { what: 'no token file', credential: () => federated('nowhere'), code: undefined, says: /nowhere does not exist \(ENOENT\)/ },
    { what: 'an empty token file', credential: () => federated('empty'), code: undefined, says: /token file \S+empty is empty/ },
    {
      what: 'no certificate file',
      credential: (): AzureCredentialOptions => ({
        method: 'client-certificate',
        clientId: 'autoscaler',
        certificatePath: join(dir, 'none.pem'),
        certificatePassword: undefined,
      }),
      code: undefined,
      says: /none\.pem does not exist/,
    },
    { what: 'a certificate as PFX', credential: () => certificate('cert.pfx'), code: undefined, says: /is not PEM; turn a PFX file/ },
    {
      what: 'no password for a certificate that has one',
      credential: () => certificate('locked.pem'),
      code: undefined,
      says: /private key of the certificate file cannot be read/,
    },
    {
      what: 'a certificate without its key',
      credential: () => certificate('keyless.pem'),
      code: undefined,
      says: /private key of the certificate file cannot be read/,
    },
    { what: 'a folder instead of a certificate', credential: () => certificate('.'), code: undefined, says: /is a folder \(EISDIR\)/ },
    {
      what: 'a folder instead of a token file',
      credential: () => federated('.'),
      code: undefined,
      says: /is a folder/,
    },
    {
      what: 'a wrong password of the certificate',
      credential: () => certificate('locked.pem', 'guess'),
      code: undefined,
      says: /private key of the certificate file cannot be read/,
    },
  ])('$what ends the start with one sentence', async ({ credential, code, says }) => {
    const error = await refusal(meet({ credential: credential() }));
    expect([error.kind, error.code]).toEqual(['auth', code]);
    expect(error.message).toMatch(says);
    expect(error.message).toMatch(/^Cannot sign in to Azure for [^\n]+\.$/);
    expect(error.message).not.toMatch(/trace id|timestamp|guess/i);
  });

  it('a sign-in service that is not there is a passing trouble, not a wrong password', async () => {
    const error = await refusal(meet({ authorityHost: 'https://localhost:1' }));
    expect(error.detail).toEqual({ kind: 'unavailable', effect: 'none' });
    expect(error.message).toContain('check the authority host');
  });

  it('a role that is missing is named with action and scope, and the daemon lives on when it comes back', async () => {
    const action = 'Microsoft.Compute/virtualMachineScaleSets/read';
    const message =
      `The client '0a1b' with object id '2c3d' does not have authorization to perform action '${action}' over scope '/subscriptions/s' ` +
      'or the scope is invalid. If access was recently granted, please refresh your credentials.';
    const m = await meet();
    m.arm.control.addFault({
      id: 'role',
      match: { method: 'GET', pathGlob: '**/virtualMachineScaleSets/*' },
      effect: { kind: 'answer', status: 403, body: { error: { code: 'AuthorizationFailed', message } } },
    });
    const error = await refusal(m.azure.refresh(m.group('general').id, m.signal));
    expect([error.kind, error.code]).toEqual(['auth', 'AuthorizationFailed']);
    expect(error.message).toMatch(
      /^Azure refused getScaleSet \S+: the identity 0a1b lacks the permission \S+\/read on \/subscriptions\/s; assign/,
    );
    m.arm.control.removeFault('role');
    await m.azure.refresh(m.group('general').id, m.signal);
    expect(m.group('general').target).toMatchObject({ known: true });
  });
});
