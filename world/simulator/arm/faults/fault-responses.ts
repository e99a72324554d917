/** What a fault does to a response: it replaces the action, fails after the action, or changes the response. */
import type { FaultEffect } from '../state/fault-rules.ts';
import { isJsonObject, mergePatch, parseJson, pick, type Json, type JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** `plain` performs the request and returns its true response. It is not called if the fault replaces the action. */
export function respondUnderFaults(
  effect: FaultEffect | undefined,
  request: ArmRequest,
  plain: (request: ArmRequest) => ArmReply,
): ArmReply {
  if (effect === undefined) return plain(request);
  switch (effect.kind) {
    case 'answer':
      return { status: effect.status, ...defined({ body: effect.body }), headers: effect.headers ?? {} };
    case 'effect-then-answer': {
      const { trace, headers = {} } = plain(request);
      return {
        status: effect.status,
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-ms-ratelimit-'))),
        ...defined({ body: effect.body, trace }),
      };
    }
    case 'reset':
      return effect.afterEffect ? plain(request) : { status: 0 };
    case 'page-shift':
      return plain(withShiftedPage(request, effect.by));
    default:
      return alterReply(effect, request, plain(request));
  }
}

/** Changes the true response. */
function alterReply(effect: FaultEffect, request: ArmRequest, reply: ArmReply): ArmReply {
  switch (effect.kind) {
    case 'empty-list':
      return reply.status === 200 ? { ...reply, body: { value: [] } } : reply;
    case 'empty-body':
      return { ...reply, body: undefined };
    case 'capacity-reads-as':
      return eachItem(reply, (item) => (isSetOf(item, effect.of) ? mergePatch(item, { sku: { capacity: effect.value } }) : item));
    case 'empty-page':
      return startOfList(request, reply);
    case 'endless-pages': {
      const query = new URLSearchParams(request.query).toString().replaceAll('%24', '$');
      const isList = reply.status === 200 && isJsonObject(reply.body) && Array.isArray(reply.body['value']);
      return isList ? { ...reply, body: { ...reply.body, nextLink: `${request.base}${request.path}?${query}` } } : reply;
    }
    case 'upper-case-ids':
      return reply.body === undefined ? reply : { ...reply, body: withUpperGroups(reply.body) };
    case 'bare-items':
      return eachItem(reply, (item, index) => mergePatch(item, { ...(index === 0 ? { id: '' } : {}), properties: { instanceView: null } }));
    default:
      return reply;
  }
}

/** A page without items is legal; its link leads to the start of the list. */
function startOfList(request: ArmRequest, reply: ArmReply): ArmReply {
  const isFirst = request.query['$skiptoken'] === undefined && isJsonObject(reply.body) && Array.isArray(reply.body['value']);
  if (!isFirst || reply.status !== 200) return reply;
  const query = new URLSearchParams(request.query);
  query.set('$skiptoken', Buffer.from(JSON.stringify({ end: 0, after: '' })).toString('base64url'));
  return { ...reply, body: { value: [], nextLink: `${request.base}${request.path}?${query.toString().replaceAll('%24', '$')}` } };
}

function isSetOf({ sku, name }: JsonObject, of = ''): boolean {
  return isJsonObject(sku) && typeof name === 'string' && name.startsWith(of);
}

/** Changes each item of a list, or the one resource that was read. */
function eachItem(reply: ArmReply, change: (item: JsonObject, index: number) => Json): ArmReply {
  const { body } = reply;
  if (!isJsonObject(body) || reply.status !== 200) return reply;
  const value = body['value'];
  const changed = (item: Json, index: number): Json => (isJsonObject(item) ? change(item, index) : item);
  return { ...reply, body: Array.isArray(value) ? { ...body, value: value.map(changed) } : changed(body, 1) };
}

/** The token names the end of the last page. The next page starts one item beside it. */
function withShiftedPage(request: ArmRequest, by: 1 | -1): ArmRequest {
  const token = request.query['$skiptoken'];
  const end = token === undefined ? undefined : pick(parseJson(Buffer.from(token, 'base64url').toString('utf8')), 'end');
  if (typeof end !== 'number') return request;
  // Without an item to continue after, the list continues from the item before `end`.
  const shifted = Buffer.from(JSON.stringify({ end: end + 1 + by, after: '' })).toString('base64url');
  return { ...request, query: { ...request.query, $skiptoken: shifted } };
}

function withUpperGroups(body: Json): Json {
  const text = JSON.stringify(body).replace(
    /(\/resourceGroups\/)([^/"]+)/gi,
    (_all, key: string, group: string) => key + group.toUpperCase(),
  );
  return parseJson(text) ?? body;
}
