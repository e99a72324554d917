/**
 * Role definitions and role assignments (Microsoft.Authorization, API version 2022-04-01) at any scope of the subscription, in the forms that Azure's
 * CLI recorded in January and April 2025. They are kept and listed; what a principal may do follows the description of the world.
 */
import { armError } from '../http/errors.ts';
import { pick, pickObject, pickText, type Json, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { equalitiesOf } from '../http/odata-filter.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { BUILT_IN_ROLES, type BuiltInRole } from './built-in-roles.ts';

const DEFINITION_TYPE = 'Microsoft.Authorization/roleDefinitions';
const ASSIGNMENT_TYPE = 'Microsoft.Authorization/roleAssignments';

/** Built-in and custom definitions; the filter may name one by `roleName`, or the `type`. */
export function listRoleDefinitions(world: ArmWorld, request: ArmRequest): ArmReply {
  const wanted = equalitiesOf(request.query['$filter']?.replace(/^atScope\(\)(?: and )?|(?: and )?atScope\(\)$/i, ''));
  if (wanted === undefined) return invalidFilter();
  const fits = (definition: JsonObject, key: string, property: string): boolean =>
    wanted.get(key) === undefined || wanted.get(key)?.toLowerCase() === pickText(definition, 'properties', property)?.toLowerCase();
  const value = definitionsOf(world).filter((each) => fits(each, 'rolename', 'roleName') && fits(each, 'type', 'type'));
  return { status: 200, body: { value } };
}

export function getRoleDefinition(world: ArmWorld, request: ArmRequest): ArmReply {
  const definition = definitionOf(world, param(request, 'definition'));
  return definition === undefined ? noDefinition(param(request, 'definition')) : { status: 200, body: definition };
}

/** Creates or replaces a custom role: 201 for both. Names of custom roles are unique in the tenant. */
export function putRoleDefinition(world: ArmWorld, request: ArmRequest): ArmReply {
  const name = param(request, 'definition');
  const given = pickObject(request.body, 'properties');
  const roleName = pickText(given, 'roleName') ?? '';
  const same = definitionsOf(world).find((each) => pickText(each, 'properties', 'roleName')?.toLowerCase() === roleName.toLowerCase());
  if (same !== undefined && same['name'] !== name) {
    const message = `A custom role with the same name already exists in this directory. Use a different name`;
    return armError(409, 'RoleDefinitionWithSameNameExists', message);
  }
  const now = new Date(world.clock.now()).toISOString();
  const permissions = pick(given, 'permissions');
  const document = {
    properties: {
      roleName,
      type: 'CustomRole',
      description: pickText(given, 'description') ?? '',
      assignableScopes: pick(given, 'assignableScopes') ?? [],
      permissions: (Array.isArray(permissions) ? permissions : []).map(wholePermissions),
      createdOn: now,
      updatedOn: now,
      createdBy: null,
      updatedBy: world.draws.guid(`oid|${request.principal.clientId}`),
    },
    id: request.path,
    type: DEFINITION_TYPE,
    name,
  };
  world.documents.set(request.path.toLowerCase(), document);
  return { status: 201, body: document };
}

export function deleteRoleDefinition(world: ArmWorld, request: ArmRequest): ArmReply {
  const definition = definitionOf(world, param(request, 'definition'));
  if (definition === undefined || pickText(definition, 'properties', 'type') !== 'CustomRole') return { status: 204 };
  world.documents.delete((pickText(definition, 'id') ?? '').toLowerCase());
  return { status: 200, body: definition };
}

/** `atScope()`: at and above the scope of the request. Otherwise below it, too. */
export function listRoleAssignments(world: ArmWorld, request: ArmRequest): ArmReply {
  const filter = request.query['$filter'] ?? '';
  const principal = /(?:principalId eq |assignedTo\()'([^']+)'/i.exec(filter)?.[1];
  const rest = filter.replace(/(?:principalId eq '[^']+'|assignedTo\('[^']+'\)|atScope\(\)|\s+and\s+)/gi, '');
  if (rest !== '') return invalidFilter();
  const scope = scopeOf(request.path, ASSIGNMENT_TYPE);
  const above = (own: string): boolean => isAtOrBelow(scope, own);
  const below = (own: string): boolean => !filter.includes('atScope()') && isAtOrBelow(own, scope);
  const value = assignmentsOf(world).filter((assignment) => {
    const own = pickText(assignment, 'properties', 'scope') ?? '';
    const isMeant = principal === undefined || pickText(assignment, 'properties', 'principalId') === principal;
    return isMeant && (above(own) || below(own));
  });
  return { status: 200, body: { value } };
}

export function getRoleAssignment({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  const document = documents.get(request.path.toLowerCase());
  if (document !== undefined) return { status: 200, body: document };
  return armError(404, 'RoleAssignmentNotFound', `The role assignment '${param(request, 'assignment')}' is not found.`);
}

/** 201. The same role of the same principal at the same scope is refused. */
export function putRoleAssignment(world: ArmWorld, request: ArmRequest): ArmReply {
  const given = pickObject(request.body, 'properties');
  const roleDefinitionId = pickText(given, 'roleDefinitionId') ?? '';
  const definition = definitionOf(world, roleDefinitionId.split('/').at(-1) ?? '');
  if (definition === undefined) return noDefinition(roleDefinitionId.split('/').at(-1) ?? '');
  const principalId = pickText(given, 'principalId') ?? '';
  const scope = scopeOf(request.path, ASSIGNMENT_TYPE);
  const same = assignmentsOf(world).find(
    (each) =>
      pickText(each, 'properties', 'principalId') === principalId &&
      pickText(each, 'properties', 'roleDefinitionId')?.toLowerCase() === roleDefinitionId.toLowerCase() &&
      pickText(each, 'properties', 'scope')?.toLowerCase() === scope.toLowerCase(),
  );
  if (same !== undefined) return armError(409, 'RoleAssignmentExists', 'The role assignment already exists.');
  const caller = world.draws.guid(`oid|${request.principal.clientId}`);
  const now = new Date(world.clock.now()).toISOString();
  const document = {
    properties: {
      roleDefinitionId,
      principalId,
      principalType: pickText(given, 'principalType') ?? 'ServicePrincipal',
      scope,
      condition: pick(given, 'condition') ?? null,
      conditionVersion: pick(given, 'conditionVersion') ?? null,
      createdOn: now,
      updatedOn: now,
      createdBy: caller,
      updatedBy: caller,
      delegatedManagedIdentityResourceId: null,
      description: pick(given, 'description') ?? null,
    },
    id: request.path,
    type: ASSIGNMENT_TYPE,
    name: param(request, 'assignment'),
  };
  world.documents.set(request.path.toLowerCase(), document);
  return { status: 201, body: document };
}

export function deleteRoleAssignment({ documents }: ArmWorld, request: ArmRequest): ArmReply {
  const document = documents.get(request.path.toLowerCase());
  documents.delete(request.path.toLowerCase());
  return document === undefined ? { status: 204 } : { status: 200, body: document };
}

/** No locks: `az lock list` shows an empty list. */
export function listLocks(): ArmReply {
  return { status: 200, body: { value: [] } };
}

function isAtOrBelow(path: string, scope: string): boolean {
  const [below, above] = [path.toLowerCase(), scope.toLowerCase().replace(/\/$/, '')];
  return below === above || below.startsWith(`${above}/`);
}

/** The part of a path before an extension resource of this provider. */
function scopeOf(path: string, type: string): string {
  return path.slice(0, path.toLowerCase().lastIndexOf(`/providers/${type.toLowerCase()}`)) || '/';
}

function assignmentsOf({ documents }: Pick<ArmWorld, 'documents'>): readonly JsonObject[] {
  return [...documents.values()].filter((document) => document['type'] === ASSIGNMENT_TYPE);
}

function definitionsOf(world: ArmWorld): readonly JsonObject[] {
  const custom = [...world.documents.values()].filter((document) => document['type'] === DEFINITION_TYPE);
  return [...BUILT_IN_ROLES.map((role) => builtInDefinition(world, role)), ...custom];
}

function definitionOf(world: ArmWorld, name: string): JsonObject | undefined {
  return definitionsOf(world).find((each) => pickText(each, 'name')?.toLowerCase() === name.toLowerCase());
}

function builtInDefinition({ spec }: ArmWorld, { id, name, permissions }: BuiltInRole): JsonObject {
  const since = '2015-02-02T21:55:09.8806423Z';
  return {
    properties: {
      roleName: name,
      type: 'BuiltInRole',
      description: '',
      assignableScopes: ['/'],
      permissions: [{ ...permissions }],
      createdOn: since,
      updatedOn: since,
      createdBy: null,
      updatedBy: null,
    },
    id: `/subscriptions/${spec.subscriptionId}/providers/${DEFINITION_TYPE}/${id}`,
    type: DEFINITION_TYPE,
    name: id,
  };
}

function wholePermissions(given: Json): JsonObject {
  const listed = (key: string): Json => pick(given, key) ?? [];
  const { actions, notActions, dataActions, notDataActions } = {
    actions: listed('actions'),
    notActions: listed('notActions'),
    dataActions: listed('dataActions'),
    notDataActions: listed('notDataActions'),
  };
  return { actions, notActions, dataActions, notDataActions };
}

function noDefinition(name: string): ArmReply {
  return armError(404, 'RoleDefinitionDoesNotExist', `The specified role definition with ID '${name.replaceAll('-', '')}' does not exist.`);
}

function invalidFilter(): ArmReply {
  return armError(400, 'UnsupportedQuery', 'The filter is not supported.');
}
