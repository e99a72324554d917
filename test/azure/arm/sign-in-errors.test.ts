import { describe, expect, it } from 'vitest';
import { explainForbidden, explainUnauthorized, signInFailure } from '../../../src/azure/arm/sign-in-errors.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

/** The words of the credential library for an answer of the metadata endpoint, which hide its status. */
const imds = (error: string, description = 'Not Available'): string =>
  `ManagedIdentityCredential: Authentication failed. Message ${error}: Error(s): Not Available - Timestamp: Not Available - ` +
  `Description: ${description} - Correlation ID: Not Available - Trace ID: Not Available`;

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
    [imds('too_many_requests'), /troubled \("too_many_requests"\); it will be asked again/, 'unavailable'],
    [imds('not_found'), /troubled \("not_found"\)/, 'unavailable'],
    [imds('unknown'), /troubled \("unknown"\)/, 'unavailable'],
    [
      imds('invalid_request', 'Required metadata header not specified'),
      /refuses a token \("Required metadata header not specified"\)/,
      'auth',
    ],
    [imds('invalid_resource', 'AADSTS500011: no resource'), /knows no resource/, 'auth'],
    [imds('forbidden', 'unreachable network'), /refuses a token \("unreachable network"\)/, 'auth'],
    ['getaddrinfo ENOTFOUND login.microsoftonline.com', /did not answer or is not one/, 'unavailable'],
    ['AADSTS50196: a loop was detected', /passing trouble \(AADSTS50196\)/, 'unavailable'],
    ['AADSTS7000112: Application is disabled.', /is disabled in this tenant/, 'auth'],
    ['AADSTS53003: Access has been blocked by Conditional Access policies.', /Conditional Access policy/, 'auth'],
    [
      'invalid_request: AADSTS90099: The application has no consent. Trace ID: 1',
      /Entra ID says "The application has no consent" \(AADSTS90099\)\.$/,
      'auth',
    ],
    ['something new.\nTrace ID: 1', /the credential says "something new"\.$/, 'auth'],
  ])('%s', (words, sentence, kind) => {
    const error = signInFailure('listScaleSets', named('AuthenticationRequiredError', words));
    expect(error?.message).toMatch(sentence);
    expect(error?.kind).toBe(kind);
    expect(error?.message).toMatch(/^Cannot sign in to Azure for listScaleSets: [^\n]+\.$/);
  });

  it.each([
    ['ExpiredAuthenticationToken', /check the clock/],
    ['InvalidAuthenticationTokenTenant', /another tenant than the subscription/],
    ['InvalidAuthenticationToken', /none for this Azure/],
    ['HTTP 401', /does not accept the token/],
  ])('a token that is refused with %s', (code, sentence) => {
    const error = explainUnauthorized('listScaleSets', code, named('RestError', 'Pagination failed with unexpected statusCode 401'));
    expect(error.message).toMatch(sentence);
    expect([error.kind, error.code]).toEqual(['auth', code]);
  });

  it('leaves alone what no credential threw', () => {
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
