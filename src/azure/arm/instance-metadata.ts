/** What the machine that we run on can tell: the subscription and the region it belongs to, where nobody configured them. */
import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from '@azure/core-rest-pipeline';
import type { Clock } from '../../lib/clock.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { isRecord, jsonOf } from './error-bodies.ts';
import { defined } from '../../lib/defined.ts';

export interface MachineQuestion {
  /** `http://169.254.169.254`, or what stands for it. */
  readonly endpoint: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 5_000;
/** The endpoint answers too many questions with 429, and 404 or 410 while it is being renewed, for up to 70 seconds. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
const PASSING = /^(404|408|410|429|5\d\d)$/;

export interface Place {
  readonly subscriptionId: string;
  readonly location: string;
}

/** What is configured of it. */
type KnownPlace = { readonly [Part in keyof Place]: Place[Part] | undefined };

const PARTS = {
  subscriptionId: 'the subscription: azure.subscriptionId (ARM_SUBSCRIPTION_ID)',
  location: 'the region: azure.location (LOCATION)',
} as const satisfies Record<keyof Place, string>;

/**
 * What is configured, and for the rest that of this machine: the subscription as today's provider finds it, and the region,
 * which an existing Deployment does not name. Nobody is asked when both are known.
 * @throws AutoscalerError of kind `config` with one sentence when it cannot be had; `cancelled` with the signal.
 */
export async function placeOf({ subscriptionId, location }: KnownPlace, { endpoint, clock, signal }: MachineQuestion): Promise<Place> {
  if (subscriptionId !== undefined && location !== undefined) return { subscriptionId, location };
  const missing = subscriptionId === undefined ? 'subscriptionId' : 'location';
  const url = `${endpoint}/metadata/instance/compute?api-version=2021-02-01&format=json`;
  let wrong = '';
  for (const waitMs of [...WAITS_MS, undefined]) {
    const answer = await ask(url, signal);
    const told = 'compute' in answer ? completed({ subscriptionId, location }, answer.compute) : undefined;
    if (told !== undefined) return told;
    wrong = 'wrong' in answer ? answer.wrong : 'did not tell it';
    if ('compute' in answer) break;
    if (!answer.passing || waitMs === undefined) break;
    await clock.sleep(waitMs, signal);
  }
  const message =
    `Cannot tell ${PARTS[missing]} is not set, and the metadata endpoint of this machine ` +
    `at ${endpoint} ${wrong}; it exists on Azure machines only, so set it elsewhere.`;
  throw new AutoscalerError({ kind: 'config' }, message);
}

/** undefined: something is missing still. Azure's own writing of regions: no spaces, lower case. */
function completed(known: KnownPlace, compute: Readonly<Record<string, unknown>>): Place | undefined {
  const subscriptionId = known.subscriptionId ?? compute['subscriptionId'];
  const location = known.location ?? compute['location'];
  if (typeof subscriptionId !== 'string' || subscriptionId === '' || typeof location !== 'string' || location === '') return undefined;
  return { subscriptionId, location: location.replaceAll(' ', '').toLowerCase() };
}

type Answer = { readonly compute: Readonly<Record<string, unknown>> } | { readonly wrong: string; readonly passing: boolean };

async function ask(url: string, signal: AbortSignal | undefined): Promise<Answer> {
  // Plain http and never through a proxy: the address is of the machine itself.
  const request = createPipelineRequest({
    url,
    headers: createHttpHeaders({ metadata: 'true' }),
    allowInsecureConnection: true,
    timeout: TIMEOUT_MS,
    ...defined({ abortSignal: signal }),
  });
  try {
    const { status, bodyAsText } = await createDefaultHttpClient().sendRequest(request);
    if (status !== 200) return { wrong: `answered ${status}`, passing: PASSING.test(String(status)) };
    const body = jsonOf(bodyAsText);
    return isRecord(body) ? { compute: body } : { wrong: 'did not tell it', passing: false };
  } catch (thrown) {
    if (signal?.aborted === true)
      throw new AutoscalerError({ kind: 'cancelled' }, 'The question for the subscription or the region was cancelled.', { cause: thrown });
    return { wrong: 'does not answer', passing: false };
  }
}
