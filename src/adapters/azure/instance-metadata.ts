/** What the machine that we run on can tell: the subscription it belongs to, where nobody configured one. */
import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from '@azure/core-rest-pipeline';
import type { Clock } from '../../domain/clock.ts';
import { AutoscalerError } from '../../domain/errors.ts';
import { isRecord, jsonOf } from './arm-body.ts';

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

/**
 * The subscription of this machine, as today's provider finds it.
 * @throws AutoscalerError of kind `config` with one sentence when it cannot be had; `cancelled` with the signal.
 */
export async function subscriptionOfMachine({ endpoint, clock, signal }: MachineQuestion): Promise<string> {
  const url = `${endpoint}/metadata/instance/compute?api-version=2021-02-01&format=json`;
  let wrong = '';
  for (const waitMs of [...WAITS_MS, undefined]) {
    const answer = await ask(url, signal);
    if ('subscription' in answer) return answer.subscription;
    wrong = answer.wrong;
    if (!answer.passing || waitMs === undefined) break;
    await clock.sleep(waitMs, signal);
  }
  const message =
    `Cannot tell the subscription: azure.subscriptionId (ARM_SUBSCRIPTION_ID) is not set, and the metadata endpoint of this machine ` +
    `at ${endpoint} ${wrong}; it exists on Azure machines only, so set the id elsewhere.`;
  throw new AutoscalerError({ kind: 'config' }, message);
}

type Answer = { readonly subscription: string } | { readonly wrong: string; readonly passing: boolean };

async function ask(url: string, signal: AbortSignal | undefined): Promise<Answer> {
  // Plain http and never through a proxy: the address is of the machine itself.
  const request = createPipelineRequest({
    url,
    headers: createHttpHeaders({ metadata: 'true' }),
    allowInsecureConnection: true,
    timeout: TIMEOUT_MS,
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  try {
    const { status, bodyAsText } = await createDefaultHttpClient().sendRequest(request);
    if (status !== 200) return { wrong: `answered ${status}`, passing: PASSING.test(String(status)) };
    const body = jsonOf(bodyAsText);
    const id = isRecord(body) ? body['subscriptionId'] : undefined;
    if (typeof id === 'string' && id !== '') return { subscription: id };
    return { wrong: 'did not tell it', passing: false };
  } catch (thrown) {
    if (signal?.aborted === true)
      throw new AutoscalerError({ kind: 'cancelled' }, 'The question for the subscription was cancelled.', { cause: thrown });
    return { wrong: 'does not answer', passing: false };
  }
}
