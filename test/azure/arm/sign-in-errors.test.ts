import { describe, expect, it } from 'vitest';
import { explainForbidden, explainUnauthorized, signInFailure } from '../../../src/azure/arm/sign-in-errors.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

/** The credential library's message for a response of the metadata endpoint; it hides the status. */
const imds = (error: string, description = 'Not Available'): string =>
  `ManagedIdentityCredential: Authentication failed. Message ${error}: Error(s): Not Available - Timestamp: Not Available - ` +
  `Description: ${description} - Correlation ID: Not Available - Trace ID: Not Available`;

describe('sign-in errors', () => {
  it.each([
    ['AADSTS7000222: The provided client secret keys for app are expired.', /has expired/, 'auth'],
    ["AADSTS90002: Tenant 'x' not found.", /no such tenant/, 'auth'],
    ['AADSTS70021: No matching federated identity record found.', /AADSTS70021\); check its subject/, 'auth'],
    ['AADSTS700213: No matching federated identity record found for presented assertion subject.', /AADSTS700213/, 'auth'],
    ['AADSTS700027: The certificate with identifier used to sign the client assertion is not registered.', /does not have this/, 'auth'],
    ['Please run az login from a command prompt.', /run az login/, 'auth'],
    ["EACCES: permission denied, open '/var/run/token'", /\/var\/run\/token cannot be read/, 'auth'],
    ['ManagedIdentityCredential: Identity not found', /no such managed identity/, 'auth'],
    ['ManagedIdentityCredential: Network unreachable. Message: network_error: See https://x', /only on Azure VMs/, 'unavailable'],
    ['connect EHOSTUNREACH 169.254.169.254:80', /only on Azure VMs/, 'unavailable'],
    [imds('too_many_requests'), /temporary problem \("too_many_requests"\); the sign-in will be tried again/, 'unavailable'],
    [imds('not_found'), /temporary problem \("not_found"\)/, 'unavailable'],
    [imds('unknown'), /temporary problem \("unknown"\)/, 'unavailable'],
    [
      imds('invalid_request', 'Required metadata header not specified'),
      /refuses a token \("Required metadata header not specified"\)/,
      'auth',
    ],
    [imds('invalid_resource', 'AADSTS500011: no resource'), /has no resource/, 'auth'],
    [imds('forbidden', 'unreachable network'), /refuses a token \("unreachable network"\)/, 'auth'],
    ['getaddrinfo ENOTFOUND login.microsoftonline.com', /did not respond or is another service/, 'unavailable'],
    ['AADSTS50196: a loop was detected', /temporary problem \(AADSTS50196\)/, 'unavailable'],
    ['AADSTS7000112: Application is disabled.', /is disabled in this tenant/, 'auth'],
    ['AADSTS53003: Access has been blocked by Conditional Access policies.', /Conditional Access policy/, 'auth'],
    [
      'invalid_request: AADSTS90099: The application has no consent. Trace ID: 1',
      /Entra ID returned "The application has no consent" \(AADSTS90099\)\.$/,
      'auth',
    ],
    ['something new.\nTrace ID: 1', /the credential reports "something new"\.$/, 'auth'],
  ])('%s', (words, sentence, kind) => {
    const error = signInFailure('listScaleSets', named('AuthenticationRequiredError', words));
    expect(error?.message).toMatch(sentence);
    expect(error?.kind).toBe(kind);
    expect(error?.message).toMatch(/^Cannot sign in to Azure for listScaleSets: [^\n]+\.$/);
  });

  it.each([
    ['ExpiredAuthenticationToken', /check the clock/],
    ['InvalidAuthenticationTokenTenant', /another tenant than the subscription/],
    ['InvalidAuthenticationToken', /not valid for this Azure cloud/],
    ['HTTP 401', /does not accept the token/],
  ])('explains a token refused with %s', (code, sentence) => {
    const error = explainUnauthorized('listScaleSets', code, named('RestError', 'Pagination failed with unexpected statusCode 401'));
    expect(error.message).toMatch(sentence);
    expect([error.kind, error.code]).toEqual(['auth', code]);
  });

  it('ignores errors that no credential threw', () => {
    expect(signInFailure('w', named('RestError', 'AADSTS7000215'))).toBeUndefined();
    expect(signInFailure('w', 'AADSTS7000215')).toBeUndefined();
  });

  it('changes only refusals for a missing permission', () => {
    const conflict = new AutoscalerError({ kind: 'conflict' }, 'x');
    expect(explainForbidden('w', conflict)).toBe(conflict);
    const locked = new AutoscalerError({ kind: 'auth' }, 'The subscription is disabled.');
    expect(explainForbidden('w', locked)).toBe(locked);
  });
});
