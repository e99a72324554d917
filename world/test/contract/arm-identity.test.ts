/** Tokens and the gate of the emulator, with the real credentials. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientSecretCredential, WorkloadIdentityCredential } from '@azure/identity';
import { connect } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { CLIENT, MINUTE, RG, VERSION, aPool, aWorld, setPath, sharedRig, startRig, type Rig } from '../simulator/arm/harness.ts';

const SCOPE = 'https://management.azure.com/.default';

function assertion(expiresMs: number): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode({ exp: Math.floor(expiresMs / 1000) })}.c2ln`;
}

async function withAssertion<Result>(
  rig: Rig,
  expiresMs: number,
  act: (credential: WorkloadIdentityCredential) => Promise<Result>,
): Promise<Result> {
  const dir = await mkdtemp(join(tmpdir(), 'assertion-'));
  try {
    const tokenFilePath = join(dir, 'token');
    await writeFile(tokenFilePath, assertion(expiresMs));
    const tlsOptions = { ca: rig.tls.caPem };
    const options = {
      tenantId: rig.spec.tenantId,
      clientId: CLIENT.clientId,
      tokenFilePath,
      authorityHost: rig.arm.url,
      disableInstanceDiscovery: true,
      tlsOptions,
    };
    return await act(new WorkloadIdentityCredential(options));
  } finally {
    await rm(dir, { recursive: true });
  }
}

describe('identity', () => {
  const rig = sharedRig(aWorld([aPool('a')]));

  it('a workload identity exchanges its assertion for a token that opens the door', async () => {
    const token = await withAssertion(rig(), Date.now() + MINUTE, (credential) => credential.getToken(SCOPE));
    const answer = await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`, {
      token: false,
      headers: { authorization: `Bearer ${token.token}` },
    });
    expect(answer.status).toBe(200);
    expect(rig().arm.control.journal().at(-1)).toMatchObject({ principal: CLIENT.clientId, route: 'GET virtualMachineScaleSets/{name}' });
  });

  it('an expired assertion surfaces as AADSTS700024', async () => {
    const signingIn = withAssertion(rig(), Date.now() - MINUTE, (credential) => credential.getToken(SCOPE));
    await expect(signingIn).rejects.toThrow('AADSTS700024');
  });

  it.each([
    { what: 'a wrong secret', clientId: CLIENT.clientId, secret: 'wrong', code: 'AADSTS7000215' },
    { what: 'an unknown application', clientId: 'bbbbbbbb-0000-0000-0000-000000000002', secret: 'right', code: 'AADSTS700016' },
  ])('refuses $what', async ({ clientId, secret, code }) => {
    const options = { authorityHost: rig().arm.url, disableInstanceDiscovery: true, tlsOptions: { ca: rig().tls.caPem } };
    const credential = new ClientSecretCredential(rig().spec.tenantId, clientId, secret, options);
    await expect(credential.getToken(SCOPE)).rejects.toThrow(code);
  });

  it.each(['', '/'])('the metadata route (ending "%s") wants its header and speaks in strings', async (ending) => {
    const path = `/metadata/identity/oauth2/token${ending}?api-version=2018-02-01&resource=https://management.azure.com`;
    expect(await rig().call('GET', path, { token: false })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    const { json } = await rig().call('GET', path, { token: false, headers: { metadata: 'true' } });
    expect(json).toMatchObject({ expires_in: '3599', token_type: 'Bearer' });
    for (const part of ['api-version=2018-02-01&', '&resource=https://management.azure.com']) {
      const partly = await rig().call('GET', path.replace(part, ''), { token: false, headers: { metadata: 'true' } });
      expect(partly).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    }
    expect(Number(json['expires_on'])).toBe(Math.floor(rig().clock.now() / 1000) + 3_599);
  });

  it.each([
    { what: 'no token', headers: {}, code: 'AuthenticationFailed' },
    { what: 'a token of someone else', headers: { authorization: 'Bearer a.b.c' }, code: 'InvalidAuthenticationToken' },
  ])('401 for $what', async ({ headers, code }) => {
    const answer = await rig().call('GET', `${setPath(rig(), 'a')}?${VERSION}`, { token: false, headers });
    expect(answer).toMatchObject({ status: 401, json: { error: { code } } });
    expect(answer.headers['www-authenticate']).toContain('invalid_token');
  });

  it('serves h2 as well as http/1.1', async () => {
    const session = connect(rig().arm.url, { ca: rig().tls.caPem });
    const status = await new Promise((resolve, reject) => {
      session.on('error', reject);
      const stream = session.request({ ':path': '/metadata/endpoints?api-version=2019-05-01' });
      stream.on('response', (headers) => resolve(headers[':status']));
      stream.on('error', reject);
      stream.resume();
      stream.end();
    });
    session.close();
    expect(status).toBe(200);
  });
});

describe('identity over time', () => {
  it('an expired token is refused with a challenge, by the clock of the world', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'));
    rig.clock.advance(3_600_000);
    const getting = rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'));
    await expect(getting).rejects.toMatchObject({ statusCode: 401, code: 'ExpiredAuthenticationToken' });
  });

  it('a claims challenge costs exactly one more token and the call succeeds', async () => {
    const rig = await startRig(aWorld([aPool('a')]));
    await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'));
    const claims = Buffer.from(JSON.stringify({ access_token: { nbf: { essential: true, value: '1' } } })).toString('base64');
    const challenge = `Bearer realm="", authorization_uri="${rig.arm.url}/common", error="insufficient_claims", claims="${claims}"`;
    rig.arm.control.addFault({
      id: 'cae',
      match: { method: 'GET', pool: 'a', times: 1 },
      effect: { kind: 'answer', status: 401, headers: { 'www-authenticate': challenge } },
    });
    const tokens = (): number => rig.arm.control.journal().filter((entry) => entry.route.endsWith('oauth2/v2.0/token')).length;
    const before = tokens();
    expect((await rig.compute.virtualMachineScaleSets.get(RG, rig.set('a'))).name).toBe(rig.set('a'));
    expect(tokens() - before).toBe(1);
  });
});
