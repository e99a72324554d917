/** The `Status` bodies of an API server's refusals, in the words that clients match on. */
import { defined } from '../../../../src/lib/defined.ts';
export interface KubeStatus {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: 'Failure' | 'Success';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly { readonly reason: string; readonly message: string; readonly field?: string }[];
    readonly retryAfterSeconds?: number;
  };
  readonly code: number;
}

/** The expected outcomes of a call to the store: the value, or the server's refusal. */
export type Result<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly refusal: KubeStatus };

export function success<Value>(value: Value): Result<Value> {
  return { ok: true, value };
}

export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly name?: string;
}

/** `pods "web"` or `pods.metrics.k8s.io "web"`. */
function subjectText(subject: Subject): string {
  const resource = subject.group === '' ? subject.plural : `${subject.plural}.${subject.group}`;
  return subject.name === undefined ? resource : `${resource} "${subject.name}"`;
}

export function failureStatus(code: number, reason: string, message: string, details?: KubeStatus['details']): KubeStatus {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...defined({ details }),
    code,
  };
}

export function refuse(
  code: number,
  reason: string,
  message: string,
  details?: KubeStatus['details'],
): { readonly ok: false; readonly refusal: KubeStatus } {
  return { ok: false, refusal: failureStatus(code, reason, message, details) };
}

type Refused = { readonly ok: false; readonly refusal: KubeStatus };

function detailsOf(subject: Subject): NonNullable<KubeStatus['details']> {
  return {
    ...defined({ name: subject.name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    kind: subject.plural,
  };
}

export function notFound(subject: Subject): Refused {
  return refuse(404, 'NotFound', `${subjectText(subject)} not found`, detailsOf(subject));
}

export function alreadyExists(subject: Subject): Refused {
  return refuse(409, 'AlreadyExists', `${subjectText(subject)} already exists`, detailsOf(subject));
}

export function conflict(subject: Subject, why: string): Refused {
  return refuse(409, 'Conflict', `Operation cannot be fulfilled on ${subjectText(subject)}: ${why}`, detailsOf(subject));
}

/** The message of every optimistic-lock failure. */
export const STALE = 'the object has been modified; please apply your changes to the latest version and try again';

export function badRequest(message: string): Refused {
  return refuse(400, 'BadRequest', message);
}

export function invalid(subject: Subject & { readonly kind: string }, field: string, problem: string): Refused {
  const name = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`;
  return refuse(422, 'Invalid', `${name} "${subject.name ?? ''}" is invalid: ${field}: ${problem}`, {
    ...detailsOf(subject),
    kind: subject.kind,
    causes: [{ reason: 'FieldValueInvalid', message: problem, field }],
  });
}

export function expiredStatus(message: string): KubeStatus {
  return failureStatus(410, 'Expired', message);
}

/** The request names a version that does not exist yet. A client waits and retries. */
export function tooLargeVersion(requested: number, current: number): Refused {
  return refuse(504, 'Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}
