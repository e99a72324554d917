/** What ARM's gateway refuses by itself, before any resource provider is asked. */
import { gatewayError } from './errors.ts';
import type { ArmReply, ArmRequest } from './messages.ts';
import type { Identity } from './tokens.ts';
import type { ArmWorld } from './world-state.ts';

const API_VERSION = /^(\d{4}-\d{2}-\d{2})(-preview)?$/;
/** Any version since then is taken; these are named to whom gave another. */
const SUPPORTED_VERSIONS: readonly string[] = ['2026-04-01', '2026-03-01', '2025-04-01', '2024-07-01', '2021-07-01', '2019-03-01'];
/** AKS signs its operation URLs with this one, and providers that only stand around the pools have older ones. */
const OLDEST_ELSEWHERE = '2017-08-31';
const OLDEST = '2019-03-01';

function oldestVersionOf(path: string): string {
  const isOfPools = /\/providers\/Microsoft\.(Compute|ContainerService)\//i.test(path);
  return isOfPools && !/\/(operations|operationresults)\/[^/]+$/i.test(path) ? OLDEST : OLDEST_ELSEWHERE;
}

/** The refusals that need no resource: version, token, body. */
export function refuseAtGate(identity: Identity, request: ArmRequest): ArmReply | undefined {
  const version = request.query['api-version'];
  if (version === undefined) {
    return gatewayError(400, 'MissingApiVersionParameter', 'The api-version query parameter (?api-version=) is required for all requests.');
  }
  const date = API_VERSION.exec(version)?.[1];
  if (date === undefined || date < oldestVersionOf(request.path)) {
    const message = `The api-version '${version}' is invalid. The supported versions are '${SUPPORTED_VERSIONS.join(',')}'.`;
    return gatewayError(400, 'InvalidApiVersionParameter', message);
  }
  const unauthorized = identity.refuse(request.headers, request.base);
  if (unauthorized !== undefined) return unauthorized;
  if (request.text !== '' && request.body === undefined) {
    return gatewayError(400, 'InvalidRequestContent', 'The request content was invalid and could not be deserialized.');
  }
  return undefined;
}

/** The refusals of a subscription or a resource group that is not there. */
export function refuseScope({ spec }: ArmWorld, { params }: ArmRequest): ArmReply | undefined {
  const { sub, rg } = params;
  if (sub !== undefined && sub.toLowerCase() !== spec.subscriptionId.toLowerCase()) {
    return gatewayError(404, 'SubscriptionNotFound', `The subscription '${sub}' could not be found.`);
  }
  const groups = [spec.nodeResourceGroup, spec.clusterResourceGroup].map((name) => name.toLowerCase());
  if (rg === undefined || groups.includes(rg.toLowerCase())) return undefined;
  return gatewayError(404, 'ResourceGroupNotFound', `Resource group '${rg}' could not be found.`);
}

export function unknownRoute(request: ArmRequest): ArmReply {
  const [, namespace = 'Microsoft.Resources', type = ''] = /\/providers\/([^/]+)\/(.*)$/i.exec(request.path) ?? [];
  const version = request.query['api-version'] ?? '';
  const message = `The resource type '${type}' could not be found in the namespace '${namespace}' for api version '${version}'.`;
  return gatewayError(404, 'InvalidResourceType', message);
}
