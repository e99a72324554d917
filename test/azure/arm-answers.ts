/** Answers of Azure as tests need them, and what the adapter makes of one. */
import { classifyResponse } from '../../src/azure/arm/errors.ts';
import { START_MS } from '../support/builders.ts';

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly write?: boolean;
}

export const HINTS = { scope: { vmSize: 'Standard_D4s_v5', priority: 'Regular' as const } };

export function classify(answer: Answer) {
  return classifyResponse(
    {
      status: answer.status,
      header: (name) => answer.headers?.[name],
      bodyText: typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body),
      write: answer.write ?? true,
      what: 'putScaleSet aks-user1-vmss',
      nowMs: START_MS,
    },
    HINTS,
  );
}

export function wrapped(code: string, message: string, more: object = {}): unknown {
  return { error: { code, message, ...more } };
}

export const QUOTA_TEXT =
  'Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota. Additional details - Deployment Model: Resource Manager, Location: eastus2, Current Limit: 10, Current Usage: 8, Additional Required: 8, (Minimum) New Limit Required: 16. Setup Alerts when Quota reaches threshold. Submit a request for Quota increase at https://aka.ms/ProdportalCRP/ by specifying parameters listed in the Details section for deployment to succeed.';

export const COMPUTE_429 = wrapped(
  'OperationNotAllowed',
  'The server rejected the request because too many requests have been received for this subscription.',
  {
    details: [
      {
        code: 'TooManyRequests',
        target: 'CreateVMScaleSetResource',
        message: JSON.stringify({ operationGroup: 'CreateVMScaleSetResource', endTime: new Date(START_MS + 60_000).toISOString() }),
      },
    ],
    innererror: { internalErrorCode: 'TooManyRequestsReceived' },
  },
);

export function subscriptionWide(): unknown {
  const details = [{ code: 'TooManyRequests', target: 'CreateVMScaleSetSubscriptionMaximum', message: '{}' }];
  return wrapped('OperationNotAllowed', 'The server rejected the request because too many requests have been received.', { details });
}
