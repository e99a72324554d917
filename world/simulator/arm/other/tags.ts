/**
 * Tags of a scale set through the Resources provider (`az tag update`, API version 2021-04-01), which passes them on to Compute as a PATCH.
 * Must not know what a tag means.
 */
import { patchScaleSet } from '../compute/scale-sets.ts';
import { armError } from '../http/errors.ts';
import { isJsonObject, pick, pickText, type JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { findSet } from '../state/arm-state.ts';
import { param } from '../http/messages.ts';

/** Merges or replaces the tags, or deletes those that are named. */
export function patchTags(world: ArmWorld, request: ArmRequest): ArmReply {
  const before = pick(findSet(world, param(request, 'name'))?.document, 'tags');
  const given = pick(pick(request.body, 'properties'), 'tags');
  const next = isJsonObject(given)
    ? combined(pickText(request.body, 'operation') ?? '', isJsonObject(before) ? before : {}, given)
    : undefined;
  if (next === undefined)
    return armError(
      400,
      'InvalidRequestContent',
      'The request content was invalid: operation must be Merge, Replace or Delete, with properties.tags.',
    );
  const reply = patchScaleSet(world, { ...request, body: { tags: next } });
  if (reply.status !== 200) return reply;
  const id = `${request.path.replace(/\/default$/i, '')}/default`;
  return { status: 200, body: { id, name: 'default', type: 'Microsoft.Resources/tags', properties: { tags: next } }, ...traceOf(reply) };
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
