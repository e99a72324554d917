/** Reads the subscription and the region from the instance metadata of the VM that this process runs on, if they are not configured. */
import { createDefaultHttpClient, createHttpHeaders, createPipelineRequest } from '@azure/core-rest-pipeline';
import type { Clock } from '../lib/clock.ts';
import { AutoscalerError } from '../lib/errors.ts';
import { jsonOf } from './arm/error-bodies.ts';
import { limitResponse } from './arm/response-bodies.ts';
import { defined } from '../lib/defined.ts';
import { isRecord } from '../lib/json.ts';

export interface MetadataDeps {
  /** `http://169.254.169.254`, or its stand-in. */
  readonly endpoint: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 5_000;
/** The endpoint returns 429 to too many requests, and 404 or 410 while it is being updated, for up to 70 seconds. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000];
const TRANSIENT_STATUS = /^(404|408|410|429|5\d\d)$/;

export interface SubscriptionRegion {
  readonly subscriptionId: string;
  readonly location: string;
  /** The resource group of the VM is that of all nodes. */
  readonly nodeResourceGroup: string;
}

/** The configured part. */
type ConfiguredRegion = { readonly [Part in keyof SubscriptionRegion]: SubscriptionRegion[Part] | undefined };

const SETTING_OF = {
  subscriptionId: 'azure.subscriptionId (ARM_SUBSCRIPTION_ID)',
  location: 'azure.location (LOCATION)',
  nodeResourceGroup: 'azure.resourceGroup (ARM_RESOURCE_GROUP)',
} as const satisfies Record<keyof SubscriptionRegion, string>;

/**
 * Returns the configured subscription and region, and reads what is missing from the instance metadata. The subscription is
 * found as the Cluster Autoscaler finds it; an existing Deployment does not name the region. If both are configured, nothing
 * is read. @throws AutoscalerError of kind `config` with one sentence if a value cannot be read; `cancelled` with the signal.
 */
export async function findSubscriptionAndRegion(
  { subscriptionId, location, nodeResourceGroup }: ConfiguredRegion,
  { endpoint, clock, signal }: MetadataDeps,
): Promise<SubscriptionRegion> {
  const known = { subscriptionId, location, nodeResourceGroup };
  const configured = completeFromMetadata(known, {});
  if (configured !== undefined) return configured;
  const missing = subscriptionId === undefined ? 'subscriptionId' : location === undefined ? 'location' : 'nodeResourceGroup';
  const url = `${endpoint}/metadata/instance/compute?api-version=2021-02-01&format=json`;
  let problem = '';
  for (const waitMs of [...WAITS_MS, undefined]) {
    const reading = await readMetadata(url, signal);
    const complete = 'compute' in reading ? completeFromMetadata(known, reading.compute) : undefined;
    if (complete !== undefined) return complete;
    problem = 'problem' in reading ? reading.problem : 'did not return it';
    if ('compute' in reading) break;
    if (!reading.transient || waitMs === undefined) break;
    await clock.sleep(waitMs, signal);
  }
  const setting = SETTING_OF[missing];
  const message =
    `${setting} is not set, and the instance metadata endpoint ${endpoint} ${problem}; ` +
    `the endpoint exists only on Azure VMs, so set ${setting} elsewhere.`;
  throw new AutoscalerError({ kind: 'config' }, message);
}

/** undefined: a value is still missing. Regions are spelled as Azure does: without spaces, in lower case. */
function completeFromMetadata(known: ConfiguredRegion, compute: Readonly<Record<string, unknown>>): SubscriptionRegion | undefined {
  const subscriptionId = known.subscriptionId ?? textOf(compute['subscriptionId']);
  const location = known.location ?? textOf(compute['location']);
  const nodeResourceGroup = known.nodeResourceGroup ?? textOf(compute['resourceGroupName']);
  if (subscriptionId === undefined || location === undefined || nodeResourceGroup === undefined) return undefined;
  return { subscriptionId, location: location.replaceAll(' ', '').toLowerCase(), nodeResourceGroup };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type MetadataReading = { readonly compute: Readonly<Record<string, unknown>> } | { readonly problem: string; readonly transient: boolean };

async function readMetadata(url: string, signal: AbortSignal | undefined): Promise<MetadataReading> {
  // Plain http and never through a proxy: the address is local to the VM.
  const request = createPipelineRequest({
    url,
    headers: createHttpHeaders({ metadata: 'true' }),
    allowInsecureConnection: true,
    timeout: TIMEOUT_MS,
    ...defined({ abortSignal: signal }),
  });
  limitResponse(request, 'The instance metadata endpoint');
  try {
    const { status, bodyAsText } = await createDefaultHttpClient().sendRequest(request);
    if (status !== 200) return { problem: `returned HTTP ${status}`, transient: TRANSIENT_STATUS.test(String(status)) };
    const body = jsonOf(bodyAsText);
    return isRecord(body) ? { compute: body } : { problem: 'did not return it', transient: false };
  } catch (thrown) {
    if (signal?.aborted === true)
      throw new AutoscalerError({ kind: 'cancelled' }, 'Reading the subscription or the region from the instance metadata was cancelled.', {
        cause: thrown,
      });
    return { problem: 'does not respond', transient: false };
  }
}
