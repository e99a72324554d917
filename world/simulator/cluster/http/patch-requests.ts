/** PATCH: which kind of patch a body is, and the object that it makes of the current one. */
import type { KubeObject } from '../store/objects.ts';
import { isRecord, jsonPatch, mergePatch } from '../store/patches.ts';
import type { ResourceType } from '../store/resource-types.ts';
import { failureStatus, success, type KubeStatus, type Result } from '../store/status.ts';
import { strategicMerge } from '../store/strategic-merge.ts';
import type { ApiRequest } from './requests.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';

const APPLY_PATCH = 'application/apply-patch+yaml';

export function isApply(request: Pick<ApiRequest, 'contentType'>): boolean {
  return patchTypeOf(request) === APPLY_PATCH;
}

export function patchTypeOf({ contentType }: Pick<ApiRequest, 'contentType'>): string {
  return contentType.split(';')[0]?.trim() ?? '';
}

/** A custom kind has no strategies of merging. */
export function patchTypesOf({ custom }: Pick<ResourceType, 'custom'>): readonly string[] {
  return custom === undefined ? [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH] : [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];
}

export function unknownPatchType(type: ResourceType): KubeStatus {
  const message = `the body of the request was in an unknown format - accepted media types include: ${patchTypesOf(type).join(', ')}`;
  return failureStatus(415, 'UnsupportedMediaType', message);
}

export function patched(target: KubeObject, request: ApiRequest): Result<unknown> {
  switch (patchTypeOf(request)) {
    case JSON_PATCH:
      return jsonPatch(target, request.body);
    case MERGE_PATCH:
      return success(mergePatch(target, request.body));
    default:
      return success(strategicMerge(target, request.body));
  }
}

/** The patch as a refusal names it: a strategic one itself, as Go prints a map; of the others the object that they make. */
export function patchInWords(request: ApiRequest, result: unknown): string {
  return patchTypeOf(request) === STRATEGIC_PATCH ? goText(request.body) : JSON.stringify(result);
}

function goText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isRecord(value)) return typeof value === 'string' ? value : value === null ? '<nil>' : JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goText(value[key])}`).join(' ')}]`;
}
