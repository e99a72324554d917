/** The control surface over HTTP under `/_emu`. It needs no token. */
import { stateBody, type ArmControl } from './control.ts';
import { parseBackgroundActorOptions } from '../faults/background-actors.ts';
import { INCIDENT_CATALOGUE } from '../faults/incident-catalogue.ts';
import type { WorldEvent } from '../faults/world-event.ts';
import { parseFault } from '../state/fault-rules.ts';
import { isJsonObject, pick, pickText, type Json, type JsonObject } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { compileRoutes } from '../http/router.ts';
import { WORLD_PAGE } from './world-page.ts';

interface ControlRoute {
  readonly method: string;
  readonly template: string;
  readonly answer: (control: ArmControl, request: ArmRequest) => ArmReply;
}

const EVENTS = [
  'foreignScale',
  'foreignDelete',
  'foreignPower',
  'evict',
  'hang',
  'repair',
  'zoneDown',
  'rpReconcile',
  'preempt',
  'failSet',
  'upgrade',
  'upgradeVersion',
  'abort',
  'retag',
  'addPool',
  'removePool',
];

const ROUTES: readonly ControlRoute[] = [
  { method: 'GET', template: '/_emu', answer: () => ({ status: 200, body: WORLD_PAGE }) },
  { method: 'GET', template: '/_emu/incidents', answer: () => ({ status: 200, body: { incidents: incidents() } }) },
  { method: 'GET', template: '/_emu/state', answer: (control) => ({ status: 200, body: stateBody(control) }) },
  { method: 'GET', template: '/_emu/journal', answer: answerJournal },
  { method: 'GET', template: '/_emu/faults', answer: (control) => ({ status: 200, body: { faults: pick(stateBody(control), 'faults') } }) },
  { method: 'POST', template: '/_emu/faults', answer: addFault },
  { method: 'DELETE', template: '/_emu/faults/{id}', answer: removeFault },
  { method: 'POST', template: '/_emu/clock', answer: moveClock },
  { method: 'POST', template: '/_emu/events', answer: raiseEvent },
  { method: 'PUT', template: '/_emu/ambient', answer: setAmbient },
  { method: 'PUT', template: '/_emu/quota/{name}', answer: setQuota },
  { method: 'PUT', template: '/_emu/capacity/{size}/{zone}', answer: setStock },
  { method: 'PUT', template: '/_emu/stock/{size}/{zone}', answer: setStock },
];

const findRoute = compileRoutes(ROUTES);

export function isControlPath(path: string): boolean {
  return /^\/_emu(\/|$)/i.test(path);
}

/** The catalogue, for a choice. */
function incidents(): readonly Json[] {
  return [...INCIDENT_CATALOGUE].map(([number, { name }]) => ({ number, name }));
}

export function handleControl(control: ArmControl, request: ArmRequest): ArmReply {
  const match = findRoute(request.method, request.path);
  if (match === undefined)
    return { status: 404, body: { error: `${request.method} ${request.path} is not a route of the control surface` } };
  return match.row.answer(control, { ...request, params: match.params });
}

function refused(sentence: string): ArmReply {
  return { status: 400, body: { error: sentence } };
}

function answerJournal(control: ArmControl, request: ArmRequest): ArmReply {
  const since = Number(request.query['since'] ?? 0);
  if (!Number.isInteger(since)) return refused(`since is "${request.query['since']}"; it must be a sequence number`);
  return { status: 200, body: { entries: JSON.parse(JSON.stringify(control.journal(since))) as Json } };
}

/** Adds `{"catalogue": 15, "match": {"pool": "a"}}`, or a complete fault. */
function addFault(control: ArmControl, request: ArmRequest): ArmReply {
  const number = pick(request.body, 'catalogue');
  if (typeof number === 'number') {
    const id = pickText(request.body, 'id') ?? `fault-${request.seq}`;
    const match = pick(request.body, 'match');
    const wrong = control.addCatalogued({ number, id, ...(isJsonObject(match) ? { match: match } : {}) });
    return wrong === undefined ? { status: 201, body: { id } } : refused(wrong);
  }
  const fault = parseFault(request.body, () => `fault-${request.seq}`);
  if (typeof fault === 'string') return refused(fault);
  control.addFault(fault);
  return { status: 201, body: { id: fault.id } };
}

function removeFault(control: ArmControl, request: ArmRequest): ArmReply {
  const removed = control.removeFault(request.params['id'] ?? '');
  return removed ? { status: 204 } : { status: 404, body: { error: 'the fault does not exist' } };
}

function moveClock(control: ArmControl, request: ArmRequest): ArmReply {
  const scale = pick(request.body, 'scale');
  if (scale !== undefined) return scaleClock(control, scale);
  const ms = pick(request.body, 'advanceMs');
  if (typeof ms !== 'number' || ms < 0) return refused('advanceMs must be a number of milliseconds');
  return control.advanceClock(ms) ? { status: 200, body: {} } : refused('this world runs in real time; its clock cannot be moved');
}

function scaleClock(control: ArmControl, scale: Json): ArmReply {
  if (typeof scale !== 'number' || scale <= 0) return refused('scale must be a number above 0');
  if (control.scaledClock(scale)) return { status: 200, body: {} };
  return refused('the speed of this world is always 1, because its time is virtual, or that of a real control plane');
}

function raiseEvent(control: ArmControl, request: ArmRequest): ArmReply {
  const { body } = request;
  const [name] = isJsonObject(body) ? Object.keys(body) : [];
  const content = name === undefined ? undefined : pick(body, name);
  if (name === undefined || !EVENTS.includes(name) || !isJsonObject(content))
    return refused(`the event must be one of ${EVENTS.join(', ')}`);
  const missing = missingIn(name, content);
  if (missing !== undefined) return refused(missing);
  const wrong = control.raise(body as JsonObject & WorldEvent);
  return wrong === undefined ? { status: 200, body: {} } : refused(wrong);
}

/** What an event lacks. undefined: it is complete. */
function missingIn(name: string, content: JsonObject): string | undefined {
  if (name === 'zoneDown') return typeof content['zone'] === 'string' ? undefined : 'zoneDown.zone must name a zone, such as "1"';
  if (name === 'addPool')
    return typeof content['name'] === 'string' && typeof content['vmSize'] === 'string' ? undefined : 'addPool needs name and vmSize';
  if (typeof content['pool'] !== 'string') return `${name}.pool must name a pool`;
  return name === 'retag' && !isJsonObject(content['tags']) ? 'retag.tags must be an object with tag names and values' : undefined;
}

/** `{"evictions": {"everyMs": 600000}}` sets the actors. `{}` ends every actor. */
function setAmbient(control: ArmControl, request: ArmRequest): ArmReply {
  const settings = parseBackgroundActorOptions(request.body);
  if (typeof settings === 'string') return refused(settings);
  control.setAmbient(settings);
  return { status: 200, body: {} };
}

function setQuota(control: ArmControl, request: ArmRequest): ArmReply {
  const limit = pick(request.body, 'limit');
  if (typeof limit !== 'number' || limit < 0) return refused('limit must be a number of vCPUs');
  control.setQuota(request.params['name'] ?? '', limit);
  return { status: 200, body: {} };
}

function setStock(control: ArmControl, request: ArmRequest): ArmReply {
  const count = pick(request.body, 'count');
  if (typeof count !== 'number' || count < 0) return refused('count must be a number of VMs');
  control.setStock(request.params['size'] ?? '', request.params['zone'] ?? '0', count);
  return { status: 200, body: {} };
}
