/**
 * The directory as Microsoft Graph shows it (v1.0): service principals by object id or by client id. Clients look principals up before they assign
 * roles, and afterwards for their names. Read only.
 */
import { pick, pickText, type JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { identitiesOf } from './managed-identities.ts';

/** The filter of clients that know one name of a principal. */
const BY_NAME = /^servicePrincipalNames\/any\(\w+:\w+ eq '([^']+)'\)$/;

/** POST /v1.0/directoryObjects/getByIds: the principals of the body's `ids` that exist. */
export function getPrincipalsByIds(world: ArmWorld, request: ArmRequest, clientIds: readonly string[]): ArmReply {
  const ids = pick(request.body, 'ids');
  const wanted = Array.isArray(ids) ? ids : [];
  return found(principalsOf(world, clientIds).filter(({ id }) => wanted.includes(id)));
}

/** GET /v1.0/servicePrincipals: all, or the one of a name. */
export function listPrincipals(world: ArmWorld, request: ArmRequest, clientIds: readonly string[]): ArmReply {
  const name = BY_NAME.exec(request.query['$filter'] ?? '')?.[1];
  return found(principalsOf(world, clientIds).filter(({ appId }) => name === undefined || appId === name));
}

function found(value: readonly JsonObject[]): ArmReply {
  return { status: 200, body: { '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#directoryObjects', value } };
}

interface Principal extends JsonObject {
  readonly id: string;
  readonly appId: string;
}

function principalsOf(world: ArmWorld, clientIds: readonly string[]): readonly Principal[] {
  const applications = clientIds.map((clientId) => principal(world.draws.guid(`oid|${clientId}`), clientId, clientId, 'Application'));
  const managed = identitiesOf(world).map((identity) => {
    const of = (key: string): string => pickText(identity, 'properties', key) ?? '';
    return principal(of('principalId'), of('clientId'), pickText(identity, 'name') ?? '', 'ManagedIdentity');
  });
  return [...applications, ...managed];
}

function principal(id: string, appId: string, displayName: string, servicePrincipalType: string): Principal {
  const type = '#microsoft.graph.servicePrincipal';
  return { '@odata.type': type, id, appId, displayName, servicePrincipalType, servicePrincipalNames: [appId] };
}
