/**
 * Tags of scale sets and of the managed cluster through the Resources provider (`az tag`, API version 2021-04-01), which passes writes on to the
 * provider of the resource as a PATCH. Must not know what a tag means.
 */
import { isCluster, clusterNotFound, patchCluster } from '../aks/managed-cluster.ts';
import { notFound, patchScaleSet } from '../compute/scale-sets.ts';
import { armError } from '../http/errors.ts';
import { isJsonObject, pick, pickObject, pickText, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { findSet, type ArmWorld } from '../state/arm-state.ts';

/** What carries the tags: a scale set or the cluster. undefined: there is no such resource. */
interface Tagged {
  readonly tags: JsonObject;
  readonly patch: (request: ArmRequest) => ArmReply;
}

function taggedOf(world: ArmWorld, request: ArmRequest): Tagged | undefined {
  if (request.params['cluster'] !== undefined) {
    return isCluster(world, request) ? { tags: world.clusterTags, patch: (patch) => patchCluster(world, patch) } : undefined;
  }
  const set = findSet(world, param(request, 'name'));
  return set === undefined ? undefined : { tags: pickObject(set.document, 'tags'), patch: (patch) => patchScaleSet(world, patch) };
}

function missing(world: ArmWorld, request: ArmRequest): ArmReply {
  return request.params['cluster'] === undefined ? notFound(world, request) : clusterNotFound(request);
}

export function getTags(world: ArmWorld, request: ArmRequest): ArmReply {
  const tagged = taggedOf(world, request);
  return tagged === undefined ? missing(world, request) : { status: 200, body: tagsDocument(request, tagged.tags) };
}

/** PUT replaces all tags. PATCH merges or replaces them, or deletes those that are named. */
export function writeTags(world: ArmWorld, request: ArmRequest): ArmReply {
  const tagged = taggedOf(world, request);
  if (tagged === undefined) return missing(world, request);
  const given = pick(request.body, 'properties', 'tags');
  const operation = request.method === 'PUT' ? 'replace' : (pickText(request.body, 'operation') ?? '');
  const next = isJsonObject(given) ? combined(operation, tagged.tags, given) : undefined;
  if (next === undefined)
    return armError(
      400,
      'InvalidRequestContent',
      'The request content was invalid: operation must be Merge, Replace or Delete, with properties.tags.',
    );
  const reply = tagged.patch({ ...request, body: { tags: next } });
  if (reply.status !== 200) return reply;
  return { status: 200, body: tagsDocument(request, next), ...traceOf(reply) };
}

function tagsDocument({ path }: ArmRequest, tags: JsonObject): JsonObject {
  return { id: `${path.replace(/\/default$/i, '')}/default`, name: 'default', type: 'Microsoft.Resources/tags', properties: { tags } };
}

function traceOf({ trace }: ArmReply): Pick<ArmReply, 'trace'> {
  return trace === undefined ? {} : { trace };
}

/** undefined: there is no such operation. */
function combined(operation: string, before: JsonObject, given: JsonObject): JsonObject | undefined {
  switch (operation.toLowerCase()) {
    case 'merge':
      return { ...before, ...given };
    case 'replace':
      return given;
    case 'delete':
      return Object.fromEntries(Object.entries(before).filter(([key, value]) => given[key] !== value));
    default:
      return undefined;
  }
}
