import { describe, expect, it } from 'vitest';
import { isPlainlyNotAllowed, isPreempted, lostResponse, retryAfterMs } from '../../../src/azure/arm/errors.ts';
import type { ErrorKind } from '../../../src/lib/errors.ts';
import { START_MS } from '../../support/builders.ts';
import { type Answer, HINTS, classify, wrapped, QUOTA_TEXT, COMPUTE_429, subscriptionWide } from '../arm-answers.ts';

const TABLE: readonly (readonly [name: string, answer: Answer, detail: ErrorKind, code: string])[] = [
  [
    'family quota, with its numbers',
    { status: 409, body: wrapped('OperationNotAllowed', QUOTA_TEXT) },
    { kind: 'quota', quota: 'standardDSv5Family Cores', name: 'standarddsv5family', limit: 10, usage: 8, required: 8 },
    'OperationNotAllowed',
  ],
  [
    'regional quota',
    { status: 409, body: wrapped('OperationNotAllowed', QUOTA_TEXT.replace('standardDSv5Family', 'Total Regional')) },
    { kind: 'quota', quota: 'Total Regional Cores', name: 'cores', limit: 10, usage: 8, required: 8 },
    'OperationNotAllowed',
  ],
  [
    'Spot quota under the newer code',
    { status: 409, body: wrapped('QuotaExceeded', 'Operation results in exceeding approved LowPriorityCores quota.') },
    { kind: 'quota', quota: 'LowPriorityCores', name: 'lowprioritycores' },
    'QuotaExceeded',
  ],
  [
    'the older sentence of a quota',
    {
      status: 409,
      body: wrapped(
        'OperationNotAllowed',
        'Operation results in exceeding quota limits of Core. Maximum allowed: 10, Current in use: 7, Additional requested: 4.',
      ),
    },
    { kind: 'quota', quota: 'Core', name: 'cores', limit: 10, usage: 7, required: 4 },
    'OperationNotAllowed',
  ],
  [
    'size not available',
    {
      status: 409,
      body: wrapped(
        'SkuNotAvailable',
        "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: Standard_D4s_v5' is currently not available in location 'eastus2'.",
      ),
    },
    { kind: 'out-of-capacity', scope: HINTS.scope, lack: 'offer' },
    'SkuNotAvailable',
  ],
  [
    'etag conflict',
    { status: 412, body: wrapped('PreconditionFailed', 'Etag provided in if-match header "3" does not match etag "7" of resource.') },
    { kind: 'conflict' },
    'PreconditionFailed',
  ],
  [
    'concurrent operation',
    { status: 409, body: wrapped('Conflict', 'The request failed due to conflict with a concurrent request.') },
    { kind: 'conflict' },
    'Conflict',
  ],
  [
    'an AKS operation is under way (no wrapper)',
    {
      status: 409,
      body: {
        code: 'OperationNotAllowed',
        message: 'Operation is not allowed: Another agentpool operation (user1 - Scaling) is in progress.',
      },
    },
    { kind: 'conflict' },
    'OperationNotAllowed',
  ],
  [
    'Compute throttles one set; the later of header and body counts',
    { status: 429, headers: { 'retry-after': '36' }, body: COMPUTE_429 },
    { kind: 'throttled', retryAfterMs: 60_000, policy: 'CreateVMScaleSetResource' },
    'OperationNotAllowed',
  ],
  [
    'ARM throttles reads',
    {
      status: 429,
      headers: { 'retry-after': '10' },
      write: false,
      body: wrapped('SubscriptionRequestsThrottled', "Number of 'read' requests for subscription 's' actor 'o' exceeded."),
    },
    { kind: 'throttled', retryAfterMs: 10_000 },
    'SubscriptionRequestsThrottled',
  ],
  [
    'azure provider 177 / fault 22: throttled without a time',
    { status: 429, body: '' },
    { kind: 'throttled', retryAfterMs: undefined },
    'HTTP 429',
  ],
  [
    'a date far away',
    { status: 429, headers: { 'retry-after': new Date(START_MS + 1_200_000).toUTCString() } },
    { kind: 'throttled', retryAfterMs: 1_200_000 },
    'HTTP 429',
  ],
  [
    'AKS throttles (no wrapper)',
    {
      status: 429,
      headers: { 'retry-after': '36' },
      body: { code: 'Throttled', message: 'The PutAgentPoolHandler.PUT request limit has been exceeded.' },
    },
    { kind: 'throttled', retryAfterMs: 36_000 },
    'Throttled',
  ],
  [
    'an HTML gateway page after a write',
    { status: 502, body: '<html>Bad Gateway</html>' },
    { kind: 'unavailable', effect: 'unknown' },
    'HTTP 502',
  ],
  [
    'a server error on a read',
    { status: 500, write: false, body: wrapped('InternalServerError', 'The server encountered an error.') },
    { kind: 'unavailable', effect: 'none' },
    'InternalServerError',
  ],
  [
    'lost role',
    { status: 403, body: wrapped('AuthorizationFailed', "The client 'x' does not have authorization to perform action 'write'") },
    { kind: 'auth' },
    'AuthorizationFailed',
  ],
  [
    'expired token',
    { status: 401, body: wrapped('ExpiredAuthenticationToken', 'The access token expiry') },
    { kind: 'auth' },
    'ExpiredAuthenticationToken',
  ],
  [
    'policy',
    { status: 403, body: wrapped('RequestDisallowedByPolicy', "Resource 'n' was disallowed by policy.") },
    { kind: 'quota', quota: 'policy or lock (RequestDisallowedByPolicy)', local: true },
    'RequestDisallowedByPolicy',
  ],
  [
    'lock',
    { status: 409, body: wrapped('ScopeLocked', 'The scope cannot perform write operation') },
    { kind: 'quota', quota: 'policy or lock (ScopeLocked)', local: true },
    'ScopeLocked',
  ],
  [
    'the set is gone',
    { status: 404, body: wrapped('ResourceNotFound', "The Resource 'Microsoft.Compute/virtualMachineScaleSets/n' was not found.") },
    { kind: 'not-found' },
    'ResourceNotFound',
  ],
  [
    'an id that is no longer active',
    {
      status: 400,
      body: wrapped('InvalidParameter', 'The provided instanceId 1181 is not an active Virtual Machine Scale Set VM instanceId.', {
        target: 'instanceIds',
      }),
    },
    { kind: 'not-found' },
    'InvalidParameter',
  ],
  [
    'our own mistake',
    { status: 400, body: wrapped('InvalidParameter', 'capacity must not be negative') },
    { kind: 'bug' },
    'InvalidParameter',
  ],
  [
    'a disabled subscription',
    { status: 409, body: wrapped('ReadOnlyDisabledSubscription', 'The subscription is disabled') },
    { kind: 'auth' },
    'ReadOnlyDisabledSubscription',
  ],
  [
    'no api-version',
    {
      status: 400,
      body: wrapped('MissingApiVersionParameter', 'The api-version query parameter (?api-version=) is required for all requests.'),
    },
    { kind: 'bug' },
    'MissingApiVersionParameter',
  ],
  [
    'an api-version that is none',
    { status: 400, body: wrapped('InvalidApiVersionParameter', "The api-version '2001' is invalid.") },
    { kind: 'bug' },
    'InvalidApiVersionParameter',
  ],
  [
    'an api-version that the provider does not have',
    { status: 400, body: wrapped('NoRegisteredProviderFound', "No registered resource provider found for location 'westeurope'.") },
    { kind: 'bug' },
    'NoRegisteredProviderFound',
  ],
  [
    'content that is none',
    { status: 400, body: wrapped('InvalidRequestContent', 'The request content was invalid and could not be deserialized.') },
    { kind: 'bug' },
    'InvalidRequestContent',
  ],
  [
    'more machines than a set takes',
    { status: 400, body: wrapped('BadRequest', 'The VM Scale Set a with placement group cannot exceed 1000 VMs') },
    { kind: 'bug' },
    'BadRequest',
  ],
  [
    'no token',
    { status: 401, body: wrapped('AuthenticationFailed', "Authentication failed. The 'Authorization' header is missing.") },
    { kind: 'auth' },
    'AuthenticationFailed',
  ],
  [
    'a token that is none',
    { status: 401, body: wrapped('InvalidAuthenticationToken', 'The access token is invalid.') },
    { kind: 'auth' },
    'InvalidAuthenticationToken',
  ],
  [
    'an unknown subscription: not a set that is gone',
    { status: 404, body: wrapped('SubscriptionNotFound', "The subscription 's' could not be found.") },
    { kind: 'auth' },
    'SubscriptionNotFound',
  ],
  [
    'an unknown resource group',
    { status: 404, body: wrapped('ResourceGroupNotFound', "Resource group 'MC_rg' could not be found.") },
    { kind: 'not-found' },
    'ResourceGroupNotFound',
  ],
  [
    'a resource group on its way out',
    {
      status: 409,
      body: wrapped(
        'ResourceGroupBeingDeleted',
        "The resource group 'MC_rg' is in deprovisioning state and cannot perform this operation.",
      ),
    },
    { kind: 'conflict' },
    'ResourceGroupBeingDeleted',
  ],
  [
    'an operation that goes before',
    { status: 409, body: wrapped('AnotherOperationInProgress', 'Another operation on this or dependent resource is in progress.') },
    { kind: 'conflict' },
    'AnotherOperationInProgress',
  ],
  [
    'the newer server error',
    { status: 500, body: wrapped('InternalOperationError', 'An internal execution error occurred. Please retry later.') },
    { kind: 'unavailable', effect: 'unknown' },
    'InternalOperationError',
  ],
  [
    'a server that is busy',
    { status: 503, body: wrapped('ServerBusy', 'The server is busy.') },
    { kind: 'unavailable', effect: 'unknown' },
    'ServerBusy',
  ],
  [
    'a server that took too long',
    { status: 503, body: wrapped('ServerTimeout', 'The server timed out.') },
    { kind: 'unavailable', effect: 'unknown' },
    'ServerTimeout',
  ],
  [
    'a gateway that waited in vain',
    {
      status: 504,
      body: wrapped('GatewayTimeout', "The gateway did not receive a response from 'Microsoft.Compute' within the specified time period."),
    },
    { kind: 'unavailable', effect: 'unknown' },
    'GatewayTimeout',
  ],
  [
    'throttling by its words under a status that is none',
    { status: 409, headers: { 'retry-after': '5' }, body: wrapped('TooManyRequests', 'too many requests') },
    { kind: 'throttled', retryAfterMs: 5_000 },
    'TooManyRequests',
  ],
  [
    'quota of AKS (no wrapper)',
    {
      status: 400,
      body: {
        code: 'ErrCode_InsufficientVCPUQuota',
        message: 'Insufficient vcpu quota requested 8, remaining 4 for family standardDSv5Family for region westeurope.',
      },
    },
    { kind: 'quota', quota: 'standardDSv5Family', name: 'standarddsv5family', required: 8 },
    'ErrCode_InsufficientVCPUQuota',
  ],
  [
    'lost role on what the set refers to',
    {
      status: 403,
      body: wrapped(
        'LinkedAuthorizationFailed',
        'The client has permission to perform action, however it does not have permission on the linked scope.',
      ),
    },
    { kind: 'auth' },
    'LinkedAuthorizationFailed',
  ],
  [
    'Compute throttles the whole subscription',
    { status: 429, headers: { 'retry-after': '60' }, body: subscriptionWide() },
    { kind: 'throttled', retryAfterMs: 60_000, policy: 'CreateVMScaleSetSubscriptionMaximum' },
    'OperationNotAllowed',
  ],
];

describe('arm errors: refusals', () => {
  it.each(TABLE)('%s', (_name, answer, detail, code) => {
    const error = classify(answer);
    expect(error.detail).toEqual(detail);
    expect(error.code).toBe(code);
    expect(error.message).toContain('putScaleSet aks-user1-vmss');
  });

  it('a lost answer says what it may have done', () => {
    expect(lostResponse('putScaleSet', true, new Error('socket hang up')).detail).toEqual({ kind: 'unavailable', effect: 'unknown' });
    expect(lostResponse('getScaleSet', false, new Error('socket hang up')).detail).toEqual({ kind: 'unavailable', effect: 'none' });
  });

  it.each([
    [
      'a plain refusal of force',
      { status: 409, body: wrapped('OperationNotAllowed', 'Force delete is not supported for this VM size.') },
      true,
    ],
    ['quota under the same code', { status: 409, body: wrapped('OperationNotAllowed', QUOTA_TEXT) }, false],
    ['throttling under the same code', { status: 429, body: COMPUTE_429 }, false],
    ['another code', { status: 409, body: wrapped('Conflict', 'busy') }, false],
  ])('recognizes %s', (_name, answer, expected) => {
    expect(isPlainlyNotAllowed(classify(answer))).toBe(expected);
  });

  it.each([
    ['the structured code', { code: 'OperationPreempted', message: 'm' }, true],
    ['an entity tag that AKS lost', { code: 'EtagMismatch', message: 'Operation is not allowed: Another operation is in progress' }, true],
    ['the code of the details', { code: 'OriginalEtagNotExpect', message: 'm' }, true],
    ['AKS’s words', { code: 'ResourceOperationFailure', message: 'It has been preempted by Deleting operation.' }, true],
    ['the code in the text', { code: undefined, message: 'Operation failed: OperationPreempted.' }, true],
    ['another code', { code: 'InternalExecutionError', message: 'm' }, false],
  ])('knows preemption by %s', (_name, failure, expected) => {
    expect(isPreempted(failure)).toBe(expected);
  });
});

const httpDate = (afterStartMs: number): string => new Date(START_MS + afterStartMs).toUTCString();

describe('Retry-After', () => {
  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': new Date(START_MS - 5_000).toUTCString() }, 0],
    [{ 'retry-after': httpDate(3_600_000 + 9_000), date: httpDate(3_600_000) }, 9_000],
    [{ 'retry-after': httpDate(9_000), date: 'soon' }, 9_000],
    [{ 'retry-after': '86400' }, 3_600_000],
    [{ 'retry-after': httpDate(86_400_000) }, 3_600_000],
    [{ 'retry-after-ms': '86400000' }, 3_600_000],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%o', (headers: Readonly<Record<string, string>>, expected) => {
    expect(retryAfterMs((name) => headers[name], START_MS)).toBe(expected);
  });
});
