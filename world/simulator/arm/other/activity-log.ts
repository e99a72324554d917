/**
 * The activity log of the subscription: writes to scale sets and agent pools with the caller of each, as `Microsoft.Insights` lists them (API version
 * 2015-04-01). Only the patterns of `$filter` that its documentation names are accepted. Read only.
 */
import { armError } from '../http/errors.ts';
import type { JournalEntry } from '../http/journal.ts';
import type { Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { answerPage } from '../http/paging.ts';
import { AKS_PRINCIPAL, FOREIGN_WRITER } from '../http/principals.ts';
import type { ArmWorld } from '../state/arm-state.ts';

/** Operation by the method and the end of the path of a request. */
const OPERATIONS: readonly (readonly [method: string, path: RegExp, operation: string])[] = [
  ['PUT', /\/virtualMachineScaleSets\/[^/]+$/i, 'Microsoft.Compute/virtualMachineScaleSets/write'],
  ['PATCH', /\/virtualMachineScaleSets\/[^/]+$/i, 'Microsoft.Compute/virtualMachineScaleSets/write'],
  ['EVENT', /\/virtualMachineScaleSets\/[^/]+$/i, 'Microsoft.Compute/virtualMachineScaleSets/write'],
  ['POST', /\/virtualMachineScaleSets\/[^/]+\/delete$/i, 'Microsoft.Compute/virtualMachineScaleSets/delete/action'],
  ['PUT', /\/agentPools\/[^/]+$/i, 'Microsoft.ContainerService/managedClusters/agentPools/write'],
  ['EVENT', /\/agentPools\/[^/]+$/i, 'Microsoft.ContainerService/managedClusters/agentPools/write'],
  ['POST', /\/agentPools\/[^/]+\/deleteMachines$/i, 'Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action'],
];
/** What the platform does by itself has no caller. */
const EVENT_WRITERS: ReadonlySet<string> = new Set([FOREIGN_WRITER.clientId, AKS_PRINCIPAL.clientId]);

/** Newest first. An entry is listed some time after its write, as in Azure. */
export function listActivityLog(world: ArmWorld, request: ArmRequest): ArmReply {
  const filter = filterOf(request.query['$filter'] ?? '');
  if (filter === undefined) return armError(400, 'BadRequest', 'The filter is not valid: it needs eventTimestamp, then one resource.');
  const untilMs = Math.min(filter.untilMs, world.clock.now() - world.knobs.activityLogDelayMs / world.clock.speed);
  const entries = world.journal
    .since(0)
    .flatMap((entry) => entryOf(world, entry))
    .filter(({ atMs, resourceId }) => atMs >= filter.fromMs && atMs <= untilMs && filter.matches(resourceId))
    .reverse();
  const fields = request.query['$select']?.split(',').map((field) => field.trim());
  return answerPage(request, {
    items: entries,
    keyOf: ({ id }) => id,
    pageSize: world.knobs.pageSize,
    render: ({ document }) => (fields === undefined ? document : Object.fromEntries(fields.flatMap((key) => fieldOf(document, key)))),
  });
}

function fieldOf(document: Readonly<Record<string, Json>>, key: string): readonly (readonly [string, Json])[] {
  const value = document[key];
  return value === undefined ? [] : [[key, value]];
}

interface LogFilter {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly matches: (resourceId: string) => boolean;
}

/** Azure's CLI sends its times without quotes and without a zone, which is UTC (recorded in June 2019). */
const TIME = String.raw`'?([\d:.TtZz+-]+)'?`;
const NAME = String.raw`'([^']+)'`;
const KEY = 'resourceUri|resourceId|resourceGroupName|resourceProvider';
const FILTER = new RegExp(`^eventTimestamp ge ${TIME}(?: and eventTimestamp le ${TIME})?(?: and (${KEY}) eq ${NAME})?$`);

/** undefined: no documented pattern. */
function filterOf(text: string): LogFilter | undefined {
  const [, from = '', until, key, value = ''] = FILTER.exec(text) ?? [];
  const [fromMs, untilMs] = [timeOf(from), until === undefined ? Number.POSITIVE_INFINITY : timeOf(until)];
  if (Number.isNaN(fromMs) || Number.isNaN(untilMs)) return undefined;
  const wanted = value.toLowerCase();
  const isWanted = (id: string): boolean => {
    if (key === 'resourceGroupName') return id.includes(`/resourcegroups/${wanted}/`);
    return key === 'resourceProvider' ? id.includes(`/providers/${wanted}/`) : id === wanted;
  };
  return { fromMs, untilMs, matches: (resourceId) => key === undefined || isWanted(resourceId.toLowerCase()) };
}

function timeOf(text: string): number {
  return Date.parse(/[Zz]$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
}

interface LoggedWrite {
  readonly id: string;
  readonly atMs: number;
  readonly resourceId: string;
  readonly document: Readonly<Record<string, Json>>;
}

/** A person is named by the principal's name, an application by its object id (`claims.appid` is its client id). */
function entryOf(world: ArmWorld, { seq, at, method, path, status, principal }: JournalEntry): readonly LoggedWrite[] {
  const operation = OPERATIONS.find(([verb, pattern]) => verb === method && pattern.test(path))?.[2];
  if (operation === undefined || (method === 'EVENT' && !EVENT_WRITERS.has(principal))) return [];
  const isApplication = !EVENT_WRITERS.has(principal);
  const resourceId = path.replace(/\/(?:delete|deleteMachines)$/i, '');
  const objectId = world.draws.guid(`oid|${principal}`);
  const document = {
    caller: isApplication ? objectId : principal,
    claims: { appid: principal, 'http://schemas.microsoft.com/identity/claims/objectidentifier': objectId },
    eventTimestamp: new Date(at).toISOString(),
    operationName: { value: operation, localizedValue: operation },
    resourceId,
    status: { value: status < 400 ? 'Started' : 'Failed', localizedValue: status < 400 ? 'Started' : 'Failed' },
  };
  return [{ id: String(seq), atMs: at, resourceId, document }];
}
