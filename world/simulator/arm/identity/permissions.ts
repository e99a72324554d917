/**
 * The permissions of the daemon's role, as the Authorization provider lists them and as ARM enforces them. ARM refuses an action
 * without permission before the resource provider handles it. Foreign principals have all permissions.
 */
import { armError } from '../http/errors.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import type { ArmWorld } from '../state/arm-state.ts';
import { CONTRIBUTOR } from './built-in-roles.ts';

/** Lists the caller's permissions at the scope of the path. */
export function listPermissions(world: ArmWorld, request: ArmRequest): ArmReply {
  const { roleActions } = world.spec;
  const restricted = { actions: roleActions ?? [], notActions: [], dataActions: [], notDataActions: [] };
  return { status: 200, body: { value: [roleActions === undefined || request.principal.foreign ? { ...CONTRIBUTOR } : restricted] } };
}

/** Of these every principal sees its own. */
const OPEN_TO_ALL = /(?:^\/tenants|^\/subscriptions|\/permissions)$/;

/** Refuses a request that the role does not allow. */
export function refuseUnpermitted(world: ArmWorld, request: ArmRequest, template: string): ArmReply | undefined {
  const { roleActions } = world.spec;
  if (roleActions === undefined || request.principal.foreign || OPEN_TO_ALL.test(template)) return undefined;
  const action = actionOf(request.method, template);
  if (roleActions.some((allowed) => actionMatches(allowed, action))) return undefined;
  const { clientId } = request.principal;
  const objectId = world.draws.guid(`oid|${clientId}`);
  return armError(
    403,
    'AuthorizationFailed',
    `The client '${clientId}' with object id '${objectId}' does not have authorization to perform action '${action}' over scope ` +
      `'${request.path}' or the scope is invalid. If access was recently granted, please refresh your credentials.`,
  );
}

/** The provider and its types, then read, write, delete, or the name of the action. */
function actionOf(method: string, template: string): string {
  const [resource = '', provider = `Microsoft.Resources${resource}`] = template.split(/\/providers\/(?!.*\/providers\/)/);
  const segments = provider
    // The right to the activity log does not name its category.
    .replace('eventtypes/management/', 'eventtypes/')
    .split('/')
    .filter((segment) => !segment.startsWith('{'));
  const verb: Readonly<Record<string, string>> = { GET: 'read', PUT: 'write', PATCH: 'write', DELETE: 'delete', POST: 'action' };
  return `${segments.join('/')}/${verb[method] ?? 'read'}`;
}

function actionMatches(allowed: string, action: string): boolean {
  const pattern = allowed
    .toLowerCase()
    .split('*')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
  return new RegExp(`^${pattern}$`).test(action.toLowerCase());
}
