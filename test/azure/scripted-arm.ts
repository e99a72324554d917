/**
 * A very small ARM over HTTPS for tests that need to say exactly what the wire answers. Holds sets, machines and operations;
 * `intercept` replaces any answer. Everything else about Azure is the emulator's business, not this file's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { serverTlsAt } from '../../world/simulator/base/tls.ts';
import { START_MS } from '../support/builders.ts';

/** Takes what is to be closed later. */
export type AtEnd = (close: () => Promise<void> | void) => void;

export interface ArmRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** `hangUp`: the socket is destroyed instead; `raw`: sent as it is. */
export interface ArmReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly hangUp?: boolean;
  /** Nothing is ever answered. */
  readonly silent?: boolean;
}

export interface ScriptedSet {
  name: string;
  capacity: number;
  etag: number;
  tags: Record<string, string>;
  state: string;
  orchestration: string;
  zones: string[];
  sku: string;
  priority: string;
  extendedLocation: { name: string; type: string } | undefined;
  hostGroup: string | undefined;
  machines: Map<string, { state: string; power: string; vmId: string; zone: string | undefined; protection?: object }>;
}

export const SUBSCRIPTION = '00000000-0000-0000-0000-00000000000a';
export const NODE_GROUP = 'MC_rg_aks_westeurope';
const SETS =
  `/subscriptions/${SUBSCRIPTION}/resourcegroups/${NODE_GROUP}/providers/microsoft.compute/virtualmachinescalesets`.toLowerCase();

export class ScriptedArm {
  readonly sets = new Map<string, ScriptedSet>();
  readonly operations = new Map<string, { status: string; error?: unknown }>();
  readonly requests: ArmRequest[] = [];
  /** Cores of the region by quota: used and limit. If empty, Azure lists none. */
  usages: readonly (readonly [name: string, used: number, limit: number])[] = [];
  intercept: (request: ArmRequest) => ArmReply | undefined = () => undefined;
  url = '';
  caPem = '';
  #serial = 0;

  static async start(atEnd: AtEnd = onTestFinished): Promise<ScriptedArm> {
    const arm = new ScriptedArm();
    const tls = await serverTlsAt(Date.now());
    const server = createServer({ cert: tls.certPem, key: tls.keyPem }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => arm.#answer(request, response, Buffer.concat(chunks).toString()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    arm.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    arm.caPem = tls.caPem;
    atEnd(() => {
      server.close();
      server.closeAllConnections();
    });
    return arm;
  }

  addSet(name: string, capacity: number, rest: Partial<ScriptedSet> = {}): ScriptedSet {
    const set: ScriptedSet = {
      name,
      capacity,
      etag: 1,
      tags: { 'aks-managed-poolName': name },
      state: 'Succeeded',
      orchestration: 'Uniform',
      zones: [],
      sku: 'Standard_D4s_v5',
      priority: 'Regular',
      extendedLocation: undefined,
      hostGroup: undefined,
      machines: new Map(),
      ...rest,
    };
    for (let id = 0; id < capacity; id++) this.addMachine(set, String(id));
    this.sets.set(name.toLowerCase(), set);
    return set;
  }

  addMachine(set: ScriptedSet, id: string, state = 'Succeeded'): void {
    set.machines.set(id, { state, power: 'running', vmId: `vm-${set.name}-${id}`, zone: set.zones[0] });
  }

  /** What an outside writer does. */
  setCapacity(set: ScriptedSet, capacity: number): void {
    set.capacity = capacity;
    set.etag += 1;
  }

  /** Requests of one method whose path ends so. */
  sent(method: string, ending: string): readonly ArmRequest[] {
    return this.requests.filter((request) => request.method === method && request.path.endsWith(ending.toLowerCase()));
  }

  #answer(request: IncomingMessage, response: ServerResponse, text: string): void {
    const url = new URL(request.url ?? '/', this.url);
    const seen: ArmRequest = {
      method: request.method ?? '',
      path: url.pathname.toLowerCase(),
      query: url.searchParams,
      headers: request.headers,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    this.requests.push(seen);
    const reply = this.intercept(seen) ?? this.route(seen);
    if (reply.hangUp === true) {
      request.socket.destroy();
      return;
    }
    if (reply.silent === true) return;
    const body = reply.raw ?? (reply.body === undefined ? '' : JSON.stringify(reply.body));
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    response.end(body);
  }

  /** The usual answer; an interceptor may call it to have the effect and answer otherwise. */
  route(request: ArmRequest): ArmReply {
    if (request.path.includes('/operations/')) {
      const operation = this.operations.get(request.path.slice(request.path.lastIndexOf('/') + 1));
      return operation === undefined ? refusal(404, 'NotFound', 'The entity was not found in this Azure location.') : { body: operation };
    }
    if (request.path.endsWith('/usages')) return { body: { value: this.usages.map(usageDocument) } };
    if (request.path.endsWith('/skus')) return { body: { value: [SKU] } };
    if (request.path === SETS) return { body: { value: [...this.sets.values()].map(setDocument) } };
    const [name = '', child, id] = request.path.slice(SETS.length + 1).split('/');
    const set = this.sets.get(name);
    if (!request.path.startsWith(`${SETS}/`) || set === undefined)
      return refusal(404, 'ResourceNotFound', `The Resource ${name} was not found.`);
    if (child === 'virtualmachines') return machines(set, id);
    if (child === 'delete') return this.#delete(set, request);
    return request.method === 'PUT' ? this.#put(set, request) : { headers: { etag: tag(set) }, body: setDocument(set) };
  }

  #put(set: ScriptedSet, request: ArmRequest): ArmReply {
    const wanted = request.headers['if-match'];
    if (wanted !== undefined && wanted !== tag(set)) return refusal(412, 'PreconditionFailed', `Etag does not match ${tag(set)}.`);
    this.setCapacity(set, (request.body['sku'] as { capacity: number }).capacity);
    set.state = 'Updating';
    return { headers: { ...this.#operation(), etag: tag(set) }, body: setDocument(set) };
  }

  #delete(set: ScriptedSet, request: ArmRequest): ArmReply {
    const ids = request.body['instanceIds'] as string[];
    const inactive = ids.find((id) => !set.machines.has(id));
    if (inactive !== undefined) {
      return refusal(
        400,
        'InvalidParameter',
        `The provided instanceId ${inactive} is not an active Virtual Machine Scale Set VM instanceId.`,
      );
    }
    this.setCapacity(set, set.capacity - ids.length);
    for (const id of ids) set.machines.set(id, { ...set.machines.get(id), state: 'Deleting' } as never);
    return { status: 202, headers: this.#operation() };
  }

  #operation(): Record<string, string> {
    this.#serial += 1;
    const id = `op-${this.#serial}`;
    this.operations.set(id, { status: 'InProgress' });
    const url = `${this.url}/subscriptions/${SUBSCRIPTION}/providers/Microsoft.Compute/locations/westeurope/operations/${id}?api-version=2026-04-01`;
    return { 'azure-asyncoperation': url };
  }
}

export function refusal(status: number, code: string, message: string, headers: Record<string, string> = {}): ArmReply {
  return { status, headers, body: { error: { code, message } } };
}

function tag(set: ScriptedSet): string {
  return `"${set.etag}"`;
}

function idOf(set: ScriptedSet): string {
  return `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP.toUpperCase()}/providers/Microsoft.Compute/virtualMachineScaleSets/${set.name}`;
}

function setDocument(set: ScriptedSet): unknown {
  return {
    name: set.name,
    id: idOf(set),
    location: 'westeurope',
    tags: set.tags,
    zones: set.zones,
    etag: tag(set),
    sku: { name: set.sku, tier: 'Standard', capacity: set.capacity },
    ...(set.extendedLocation === undefined ? {} : { extendedLocation: set.extendedLocation }),
    properties: {
      ...(set.hostGroup === undefined ? {} : { hostGroup: { id: set.hostGroup } }),
      orchestrationMode: set.orchestration,
      provisioningState: set.state,
      virtualMachineProfile: {
        priority: set.priority,
        storageProfile: { osDisk: { osType: 'Linux', diskSizeGB: 128, managedDisk: { storageAccountType: 'Premium_LRS' } } },
      },
    },
  };
}

function machines(set: ScriptedSet, id: string | undefined): ArmReply {
  const documents = [...set.machines].map(([instanceId, machine]) => ({
    name: `${set.name}_${instanceId}`,
    instanceId,
    id: `${idOf(set)}/virtualMachines/${instanceId}`,
    location: 'westeurope',
    ...(machine.zone === undefined ? {} : { zones: [machine.zone] }),
    properties: {
      provisioningState: machine.state,
      vmId: machine.vmId,
      ...(machine.protection === undefined ? {} : { protectionPolicy: machine.protection }),
      timeCreated: new Date(START_MS).toISOString(),
      instanceView: { statuses: [{ code: `PowerState/${machine.power}` }] },
    },
  }));
  if (id === undefined) return { body: { value: documents } };
  const one = documents.find((document) => document.instanceId === id);
  return one === undefined ? refusal(404, 'NotFound', 'The entity was not found.') : { body: one };
}

const SKU = {
  resourceType: 'virtualMachines',
  name: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  locations: ['westeurope'],
  locationInfo: [{ location: 'westeurope', zones: ['1', '2', '3'] }],
  capabilities: [
    { name: 'vCPUs', value: '4' },
    { name: 'vCPUsAvailable', value: '4' },
    { name: 'MemoryGB', value: '16' },
    { name: 'CpuArchitectureType', value: 'x64' },
  ],
  restrictions: [],
};

function usageDocument([name, currentValue, limit]: readonly [string, number, number]): unknown {
  return { unit: 'Count', name: { value: name, localizedValue: name }, currentValue, limit };
}
