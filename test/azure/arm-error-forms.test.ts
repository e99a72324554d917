/** Unusual forms of error bodies and headers that Azure returns. */
import { describe, expect, it } from 'vitest';
import { classifyResponse, classifyInstanceFailure, classifyOperationError, failureReason } from '../../src/azure/arm/errors.ts';
import { QuotaLedger } from '../../src/azure/sizes/core-quotas.ts';
import type { ErrorKind } from '../../src/lib/errors.ts';
import { START_MS } from '../support/builders.ts';

interface Answer {
  readonly status: number;
  readonly body?: string | null | undefined;
  readonly retryAfter?: string;
  readonly write?: boolean;
}

function classify({ status, body, retryAfter, write = true }: Answer) {
  const header = (name: string): string | undefined => (name === 'retry-after' ? retryAfter : undefined);
  return classifyResponse({ status, header, bodyText: body, write, what: 'w', nowMs: START_MS }, { scope: { vmSize: 'S' } });
}

const coded = (code: string, message = ''): string => JSON.stringify({ error: { code, message } });

describe('forms of refusals', () => {
  it.each<[string, Answer, ErrorKind]>([
    ['no body at all', { status: 409, body: undefined }, { kind: 'conflict' }],
    ['a null', { status: 500, body: 'null', write: false }, { kind: 'unavailable', effect: 'none' }],
    ['a list', { status: 404, body: '[]' }, { kind: 'not-found' }],
    ['an error that is null', { status: 503, body: '{"error":null}' }, { kind: 'unavailable', effect: 'unknown' }],
    ['an error that is a text', { status: 401, body: '{"error":"invalid_token"}' }, { kind: 'auth' }],
    ['a code that is a number', { status: 400, body: '{"error":{"code":400,"message":"m"}}' }, { kind: 'bug' }],
    [
      'keys in capitals',
      { status: 400, body: '{"Code":"SubnetIsFull","Message":"m"}' },
      { kind: 'quota', quota: 'subnet addresses', local: true },
    ],
    [
      'a wrapper in capitals',
      { status: 400, body: '{"Error":{"Code":"Conflict","Details":[{"Code":"SubnetIsFull"}]}}' },
      { kind: 'quota', quota: 'subnet addresses', local: true },
    ],
    ['details that are null', { status: 409, body: '{"code":"Conflict","details":null,"message":"m","subcode":""}' }, { kind: 'conflict' }],
    [
      'details with a null among them',
      { status: 409, body: '{"error":{"code":"X","details":[null,{"code":"AllocationFailed"}]}}' },
      outOf(),
    ],
    ['a code in small letters', { status: 409, body: coded('skunotavailable') }, { ...outOf(), lack: 'offer' } as ErrorKind],
    ['a code in capitals', { status: 400, body: coded('SUBNETISFULL') }, { kind: 'quota', quota: 'subnet addresses', local: true }],
    ['a time out of the gateway', { status: 408, body: '' }, { kind: 'unavailable', effect: 'unknown' }],
    ['a subscription without Compute', { status: 409, body: coded('MissingSubscriptionRegistration') }, { kind: 'auth' }],
    [
      'a code of a Spot quota, and words that tell nothing',
      { status: 409, body: coded('LowPriorityQuotaExceeded', 'no') },
      { kind: 'quota', quota: 'LowPriorityCores', name: 'lowprioritycores' },
    ],
    ['a code of some quota', { status: 400, body: coded('CoreQuotaExceeded', 'no') }, { kind: 'quota', quota: 'unnamed quota' }],
    ['a code that only mentions quotas', { status: 400, body: coded('InvalidQuotaName', 'no') }, { kind: 'bug' }],
    [
      'the older sentence of a quota, of a family',
      { status: 409, body: coded('QuotaExceeded', older('Standard D Family Cores')) },
      lacks(),
    ],
  ])('%s', (_what, answer, detail) => {
    expect(classify(answer).detail).toEqual(detail);
  });

  function outOf(): ErrorKind {
    return { kind: 'out-of-capacity', scope: { vmSize: 'S' } };
  }

  function lacks(): ErrorKind {
    return { kind: 'quota', quota: 'Standard D Family Cores', name: 'standarddfamily', limit: 10, usage: 7, required: 4 };
  }

  it.each<[string | undefined, number | undefined]>([
    [' 36 ', 36_000],
    ['0.5', 500],
    ['-5', undefined],
    ['36 seconds', undefined],
    ['', undefined],
    [undefined, undefined],
    [new Date(START_MS + 9_000).toUTCString(), 9_000],
    [new Date(START_MS + 9_000).toISOString(), 9_000],
  ])('a Retry-After of %o', (retryAfter, retryAfterMs) => {
    const answer = { status: 429, ...(retryAfter === undefined ? {} : { retryAfter }) };
    expect(classify(answer).detail).toEqual({ kind: 'throttled', retryAfterMs });
  });

  it.each(['VMExtensionProvisioningError', 'VMExtensionError_K8SAPIServerConnFail', 'K8SAPIServerConnFailVMExtensionError'])(
    'a machine that %s could not join: nothing is out of stock',
    (code) => {
      const failure = classifyInstanceFailure(code, 'CSE failed');
      expect(failure.detail.kind).toBe('unavailable');
      expect(failureReason(failure)).toBe('bootstrap');
    },
  );

  it('distinguishes an operation without quota from a throttled one, without any status', () => {
    const kindOf = (message: string, details: unknown[] = []): string =>
      classifyOperationError({ code: 'OperationNotAllowed', message, details }).detail.kind;
    expect(kindOf(older('Core'))).toBe('quota');
    expect(kindOf('too many requests', [{ code: 'TooManyRequests', target: 'CreateVMScaleSetResource' }])).toBe('throttled');
    expect(kindOf('Force delete is not supported.')).toBe('unavailable');
  });

  it('the older sentence is counted like the newer one: it is the quota of the region', () => {
    const error = classify({ status: 409, body: coded('OperationNotAllowed', older('Core')) });
    const ledger = new QuotaLedger();
    ledger.recordUsages([{ name: 'cores', used: 2, limit: 20 }], START_MS);
    expect(error.detail.kind === 'quota' && ledger.recordRefusal([{ quota: 'cores', cores: 4 }], error.detail, START_MS)).toBe(true);
    expect(ledger.quotas(START_MS)).toMatchObject([{ title: 'region', limit: 10, used: 7 }]);
  });
});

function older(quota: string): string {
  return `Operation results in exceeding quota limits of ${quota}. Maximum allowed: 10, Current in use: 7, Additional requested: 4.`;
}
