/**
 * Warnings beside a response (RFC 7234, section 5.5), which kubectl prints as `Warning: ...`. A kind that nothing in this world acts on is
 * stored as in a real cluster, so its writer must learn that nothing will happen.
 */
import { isRecord } from '../store/patches.ts';
import type { ResourceType } from '../store/resource-types.ts';
import type { ApiReply, ApiRequest } from './requests.ts';

/** What does not happen, by the plural under which a kind is stored. */
const NOTHING_ACTS: Readonly<Record<string, string>> = {
  statefulsets: 'no pods are created for it',
  jobs: 'no pods are created for it',
  cronjobs: 'no Jobs are created for it',
  replicationcontrollers: 'no pods are created for it',
  horizontalpodautoscalers: 'it scales nothing',
  resourcequotas: 'it neither counts nor limits anything',
  networkpolicies: 'there is no pod network',
};

const WRITES = ['POST', 'PUT', 'PATCH'];

/** `299`: a persistent warning of any kind; `-`: the agent is not named. */
function warningValue(text: string): string {
  return `299 - "${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** The reply with these warnings, beside those that it has. */
export function withWarnings(reply: ApiReply, texts: readonly string[]): ApiReply {
  if (texts.length === 0) return reply;
  const values = [...(reply.headers?.['warning'] === undefined ? [] : [reply.headers['warning']]), ...texts.map(warningValue)];
  return { ...reply, headers: { ...reply.headers, warning: values.join(', ') } };
}

/** Each request for a deprecated version of a custom kind warns. */
export function warnOfDeprecation({ custom }: ResourceType, reply: ApiReply): ApiReply {
  return custom?.deprecation === undefined ? reply : withWarnings(reply, [custom.deprecation]);
}

/** The warnings of an accepted write. */
export function warnOfIdleKind(type: ResourceType, { method }: Pick<ApiRequest, 'method'>, reply: ApiReply): ApiReply {
  if (!WRITES.includes(method) || reply.status >= 300) return reply;
  const missing = NOTHING_ACTS[type.storage];
  if (missing !== undefined)
    return withWarnings(reply, [`the simulated cluster has no controller for ${type.kind}: it is stored, and ${missing}`]);
  return isBalanced(type, reply.body)
    ? withWarnings(reply, ['the simulated cluster has no load balancers: the Service gets no external address'])
    : reply;
}

function isBalanced(type: ResourceType, body: unknown): boolean {
  return type.storage === 'services' && isRecord(body) && isRecord(body['spec']) && body['spec']['type'] === 'LoadBalancer';
}
