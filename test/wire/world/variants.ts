/**
 * Which answers are alike enough to be compared: by call, status and what kind of resource they show. Lists are taken apart, so that each
 * item is compared with items of its own kind. Pure.
 */
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import type { WireCall } from '../recordings/wire-call.ts';
import { bodyFacts, headerFacts, type Facts } from './json-shape.ts';
import { isRecord } from '../../../src/lib/json.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Part {
  /** Call, status and the main kind of the resource. */
  readonly route: string;
  /** What else the form depends on: zones, priority, expansion. Equal kinds are compared first. */
  readonly traits: string;
  /** AKS did not make it: its model is the client's own. */
  readonly isForeign: boolean;
  readonly facts: Facts;
  /** The resource itself. undefined: headers, or the frame of a list. */
  readonly document: Json | undefined;
}

interface AnswerParts {
  readonly call: WireCall;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The answer itself, and each item if it is a list. */
export function partsOf({ call, status, headers, body }: AnswerParts): readonly Part[] {
  const document = jsonOf(body);
  const name = `${call.kind}${call.kind.startsWith('getOperation') ? ` ${call.provider}` : ''} ${status}`;
  const headersOnly = headerFacts(headers);
  if (isRecord(document) && Array.isArray(document['value'])) {
    const { value, ...frame } = document;
    const facts = new Map([...headersOnly, ...bodyFacts({ ...frame, value: [] })]);
    const items = (value as readonly unknown[]).filter(isRecord);
    return [
      { route: name, traits: '', isForeign: false, facts, document: undefined },
      ...items.map((item) => partOf(`${name} item`, call, item, bodyFacts(item))),
    ];
  }
  const facts = new Map([...headersOnly, ...bodyFacts(document)]);
  return isRecord(document) && status < 400
    ? [partOf(name, call, document, facts)]
    : [{ route: name, traits: refusalKind(document), isForeign: false, facts, document: undefined }];
}

function refusalKind(document: unknown): string {
  if (!isRecord(document)) return 'empty';
  return isRecord(document['error']) ? 'wrapped' : 'bare';
}

function partOf(name: string, { kind, expand }: WireCall, document: Json, facts: Facts): Part {
  const properties = recordOf(document['properties']);
  const main = mainKind(kind, document, properties);
  const traits = [
    zonesOf(document, properties),
    priorityOf(properties),
    expand === '' ? '' : `with ${expand}`,
    settledOf(kind, properties),
  ];
  return {
    route: main === '' ? name : `${name} (${main})`,
    traits: traits.filter((each) => each !== '').join(', '),
    isForeign: isForeign(document, properties),
    facts,
    document,
  };
}

function mainKind(kind: string, document: Json, properties: Json): string {
  if (kind === 'getOperation') return wordOf(document['status']);
  if (/ScaleSet/.test(kind)) return textOf(properties['orchestrationMode']) || 'Uniform';
  if (/AgentPool/.test(kind)) return textOf(properties['type']);
  if (kind === 'listInstances' && isMember(document)) return 'Flexible';
  return kind === 'listSkus' ? textOf(document['resourceType']) : '';
}

/** What a Flexible set shows of its VMs in place of instances: hardly more than names. The daemon lists VMs instead. */
export function isMember(document: Json): boolean {
  return 'instanceId' in document && !('properties' in document);
}

/** Words between start and end differ; an operation that runs has one form. */
function wordOf(status: unknown): string {
  const word = textOf(status);
  return /^(?:succeeded|failed|canceled)$/i.test(word) ? word : 'running';
}

function zonesOf(document: Json, properties: Json): string {
  const zones = properties['availabilityZones'] ?? document['zones'];
  if (isRecord(document['placement'])) return 'automatic zones';
  if (!Array.isArray(zones) || zones.every((zone) => zone === null)) return '';
  return zones.includes('auto') ? 'automatic zones' : 'zonal';
}

function priorityOf(properties: Json): string {
  const priority = properties['scaleSetPriority'] ?? properties['priority'] ?? recordOf(properties['virtualMachineProfile'])['priority'];
  return textOf(priority).toLowerCase() === 'spot' ? 'Spot' : '';
}

/** An instance that is made or removed lacks what it will have. */
function settledOf(kind: string, properties: Json): string {
  const state = textOf(properties['provisioningState']).toLowerCase();
  return /Instance|Vm/.test(kind) && (state === 'creating' || state === 'failed') ? state : '';
}

function isForeign(document: Json, properties: Json): boolean {
  const isMachine = ['orchestrationMode', 'virtualMachineProfile', 'vmId', 'hardwareProfile'].some((name) => name in properties);
  return isMachine && !Object.keys(recordOf(document['tags'])).some((tag) => /^aks-managed/i.test(tag));
}

function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
