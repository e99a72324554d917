/** What every answer of ARM carries. */
import type { ArmReply, ArmRequest } from './messages.ts';
import type { ArmWorld } from './world-state.ts';

/** The client's own ids are echoed. `dateSkewMs`: by how much `Date` lies. */
export function withCommonHeaders(world: ArmWorld, request: ArmRequest, reply: ArmReply, dateSkewMs: number): ArmReply {
  const { draws, spec } = world;
  const requestId = draws.guid(`request|${request.seq}`);
  const clientId = request.headers['x-ms-client-request-id'];
  const echo =
    clientId !== undefined && request.headers['x-ms-return-client-request-id'] === 'true' ? { 'x-ms-client-request-id': clientId } : {};
  const time = new Date(world.clock.now()).toISOString();
  const actor = request.principal.clientId;
  const who =
    actor === ''
      ? {}
      : { 'x-ms-operation-identifier': `tenantId=${spec.tenantId},objectId=${draws.guid(`oid|${actor}`)}/${spec.location}/${requestId}` };
  return {
    ...reply,
    headers: {
      'cache-control': 'no-cache',
      pragma: 'no-cache',
      expires: '-1',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-cache': 'CONFIG_NOCACHE',
      'x-msedge-ref': `Ref A: ${draws.hex(`edge|a|${request.seq}`, 32).toUpperCase()} Ref B: AMS231 Ref C: ${time.replace(/\.\d+Z$/, 'Z')}`,
      'x-ms-request-id': requestId,
      'x-ms-correlation-request-id': request.headers['x-ms-correlation-request-id'] ?? requestId,
      'x-ms-routing-request-id': `${spec.location.toUpperCase()}:${time.replace(/[-:]|\.\d+/g, '')}:${requestId}`,
      ...who,
      date: new Date(world.clock.now() + dateSkewMs).toUTCString(),
      ...echo,
      ...reply.headers,
    },
  };
}
