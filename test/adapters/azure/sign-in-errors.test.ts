import { describe, expect, it } from 'vitest';
import { explainForbidden, signInFailure } from '../../../src/adapters/azure/sign-in-errors.ts';
import { AutoscalerError } from '../../../src/domain/errors.ts';

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

describe('why Azure does not let us in', () => {
  it.each([
    ['AADSTS7000222: The provided client secret keys for app are expired.', /has expired/, 'auth'],
    ["AADSTS90002: Tenant 'x' not found.", /no such tenant/, 'auth'],
    ['AADSTS70021: No matching federated identity record found.', /AADSTS70021\); check its subject/, 'auth'],
    ['AADSTS700213: No matching federated identity record found for presented assertion subject.', /AADSTS700213/, 'auth'],
    ['AADSTS700027: The certificate with identifier used to sign the client assertion is not registered.', /does not have this/, 'auth'],
    ['Please run az login from a command prompt.', /run az login/, 'auth'],
    ["EACCES: permission denied, open '/var/run/token'", /\/var\/run\/token may not be read/, 'auth'],
    ['ManagedIdentityCredential: Identity not found', /no such managed identity/, 'auth'],
    ['ManagedIdentityCredential: Network unreachable. Message: network_error: See https://x', /Azure machines only/, 'unavailable'],
    ['connect EHOSTUNREACH 169.254.169.254:80', /Azure machines only/, 'unavailable'],
  ])('%s', (words, sentence, kind) => {
    const error = signInFailure('listScaleSets', named('AuthenticationRequiredError', words));
    expect(error?.message).toMatch(sentence);
    expect(error?.kind).toBe(kind);
  });

  it('leaves alone what it does not know, and what no credential threw', () => {
    expect(signInFailure('w', named('AuthenticationError', 'AADSTS50196: a loop was detected'))).toBeUndefined();
    expect(signInFailure('w', named('RestError', 'AADSTS7000215'))).toBeUndefined();
    expect(signInFailure('w', 'AADSTS7000215')).toBeUndefined();
  });

  it('changes no refusal but a missing permission', () => {
    const conflict = new AutoscalerError({ kind: 'conflict' }, 'x');
    expect(explainForbidden('w', conflict)).toBe(conflict);
    const locked = new AutoscalerError({ kind: 'auth' }, 'The subscription is disabled.');
    expect(explainForbidden('w', locked)).toBe(locked);
  });
});
