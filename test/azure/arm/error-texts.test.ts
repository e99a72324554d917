/** What is shown of Azure's own error texts: no credential, and 2 kB at most. */
import { describe, expect, it } from 'vitest';
import { classifyInstanceFailure, classifyOperationError, classifyResponse, lostResponse } from '../../../src/azure/arm/errors.ts';
import { explainUnauthorized, signInFailure } from '../../../src/azure/arm/sign-in-errors.ts';
import { MAX_SHOWN_BYTES } from '../../../src/lib/shown-text.ts';
import { START_MS } from '../../support/builders.ts';

const TOKEN = `eyJ${'a'.repeat(30)}.${'b'.repeat(30)}.${'c'.repeat(30)}`;
const LONG = `client_secret=hunter2 ${TOKEN} ${'Something went wrong. '.repeat(5_000)}`;

function classify(status: number, message: string, code = 'Odd') {
  const bodyText = JSON.stringify({ error: { code, message, target: LONG } });
  return classifyResponse({ status, header: () => undefined, bodyText, write: true, what: 'putScaleSet set', nowMs: START_MS });
}

describe("Azure's error texts", () => {
  it.each<[string, () => { readonly message: string }]>([
    ['a refusal', () => classify(400, LONG)],
    ['a failed operation', () => classifyOperationError({ code: 'Odd', message: LONG })],
    [
      'an instance of a failed operation',
      () => instanceOf(classifyOperationError({ details: [{ code: 'Odd', message: LONG, target: '3' }] })),
    ],
    ['a failed instance', () => classifyInstanceFailure('Odd', LONG)],
    ['a sign-in that fails', () => signInFailure('getVm vm', credentialError(LONG)) ?? new Error('no failure of the sign-in')],
    ['a token that is refused', () => explainUnauthorized('getVm vm', LONG, new Error('401'))],
    ['a response that the SDK cannot parse', () => lostResponse('getVm vm', false, new Error(`cannot parse ${LONG}`))],
  ])('are redacted and cut in %s', (_what, fail) => {
    const { message } = fail();
    expect(message).toContain('[redacted]');
    expect(message).not.toMatch(/hunter2|eyJ/);
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(MAX_SHOWN_BYTES + 100);
  });

  it('are classified by all of their words, wherever the cut is', () => {
    const error = classify(409, `${LONG} Operation could not be completed as it results in exceeding approved Total Regional Cores quota.`);
    expect(error.detail).toMatchObject({ kind: 'quota', name: 'cores' });
  });

  it('have codes, targets and names of quotas that are cut, too', () => {
    const error = classify(409, `exceeding approved ${LONG} quota`, LONG);
    expect(Buffer.byteLength(error.code ?? '')).toBeLessThanOrEqual(200);
    expect(Buffer.byteLength(String(error.context['target']))).toBeLessThanOrEqual(MAX_SHOWN_BYTES);
    expect(JSON.stringify([error.code, error.context, error.detail])).not.toMatch(/hunter2|eyJ/);
    expect(JSON.stringify(error.detail).length).toBeLessThan(1_000);
  });
});

function credentialError(message: string): Error {
  return Object.assign(new Error(message), { name: 'AuthenticationRequiredError' });
}

function instanceOf({ instances: [first] }: ReturnType<typeof classifyOperationError>): { readonly message: string } {
  if (first === undefined) throw new Error('no instance failed');
  return first;
}
