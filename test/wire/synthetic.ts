/** Recordings in the forms of others, written for these tests: own names, own ids, forms as recordings of 2024 to 2026 show them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { temporaryFolder } from '../support/temporary-folder.ts';

export interface SyntheticAnswer {
  readonly method?: string;
  /** From the root, with its query. */
  readonly path: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly requestBody?: unknown;
}

const ENDPOINT = 'https://management.azure.com';
export const SUBSCRIPTION = '/subscriptions/0a0a0a0a-1111-2222-3333-444444444444';
export const NODES = `${SUBSCRIPTION}/resourceGroups/MC_shop_mill_northeurope/providers/Microsoft.Compute`;
export const SET = `${NODES}/virtualMachineScaleSets/aks-flour-20406080-vmss`;
export const CLUSTER = `${SUBSCRIPTION}/resourceGroups/shop/providers/Microsoft.ContainerService/managedClusters/mill`;
export const AKS_LOCATION = `${SUBSCRIPTION}/providers/Microsoft.ContainerService/locations/northeurope`;
export const DATE = 'Tue, 14 Jul 2026 09:30:00 GMT';

const VERSION = 'api-version=2026-04-01';

export function aSet(more: Readonly<Record<string, unknown>> = {}, properties: Readonly<Record<string, unknown>> = {}): object {
  return {
    name: 'aks-flour-20406080-vmss',
    id: SET,
    type: 'Microsoft.Compute/virtualMachineScaleSets',
    location: 'northeurope',
    etag: '"3"',
    tags: { 'aks-managed-poolName': 'flour' },
    sku: { name: 'Standard_D4s_v5', tier: 'Standard', capacity: 2 },
    properties: { provisioningState: 'Succeeded', orchestrationMode: 'Uniform', ...properties },
    ...more,
  };
}

export function aPool(properties: Readonly<Record<string, unknown>> = {}): object {
  return {
    id: `${CLUSTER}/agentPools/flour`,
    name: 'flour',
    type: 'Microsoft.ContainerService/managedClusters/agentPools',
    properties: {
      type: 'VirtualMachineScaleSets',
      count: 2,
      vmSize: 'Standard_D4s_v5',
      mode: 'User',
      eTag: '5b5b5b5b-0000-4000-8000-000000000001',
      provisioningState: 'Succeeded',
      ...properties,
    },
  };
}

export function getSet(document: object, headers: Readonly<Record<string, string>> = {}): SyntheticAnswer {
  return { path: `${SET}?${VERSION}`, body: document, headers };
}

export function getPool(document: object, headers: Readonly<Record<string, string>> = {}): SyntheticAnswer {
  return { path: `${CLUSTER}/agentPools/flour?api-version=2026-06-01`, body: document, headers };
}

function headersOf({ headers, body }: SyntheticAnswer): Readonly<Record<string, string>> {
  return { ...(body === undefined ? {} : { 'Content-Type': 'application/json; charset=utf-8' }), Date: DATE, ...headers };
}

function listed(headers: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

function textOf(body: unknown): string {
  return body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
}

/** As vcrpy writes for Azure's CLI. */
export function cliYaml(answers: readonly SyntheticAnswer[]): string {
  return stringify({
    interactions: answers.map((answer) => ({
      request: { body: null, headers: { Accept: ['*/*'] }, method: answer.method ?? 'GET', uri: ENDPOINT + answer.path },
      response: {
        body: { string: textOf(answer.body) },
        headers: listed(Object.fromEntries(Object.entries(headersOf(answer)).map(([name, value]) => [name.toLowerCase(), value]))),
        status: { code: answer.status ?? 200, message: 'x' },
      },
    })),
    version: 1,
  });
}

/** As go-vcr writes; version 1 has neither ids nor a host. */
export function goYaml(answers: readonly SyntheticAnswer[], version: 1 | 2 = 2): string {
  return stringify({
    version,
    interactions: answers.map((answer, id) => ({
      ...(version === 1 ? {} : { id }),
      request: { body: textOf(answer.requestBody), form: {}, headers: {}, url: ENDPOINT + answer.path, method: answer.method ?? 'GET' },
      response: {
        body: textOf(answer.body),
        headers: listed(headersOf(answer)),
        status: `${answer.status ?? 200} Whatever`,
        code: answer.status ?? 200,
        duration: '200ms',
      },
    })),
  });
}

/** As the SDK's test proxy writes: bodies are documents. */
export function proxyJson(answers: readonly SyntheticAnswer[]): string {
  const entries = answers.map((answer) => ({
    RequestUri: ENDPOINT + answer.path,
    RequestMethod: answer.method ?? 'GET',
    RequestHeaders: {},
    RequestBody: answer.requestBody ?? null,
    StatusCode: answer.status ?? 200,
    ResponseHeaders: headersOf(answer),
    ResponseBody: answer.body ?? null,
  }));
  return JSON.stringify({ Entries: entries, Variables: {} });
}

/** As PowerShell writes: addresses are relative, headers are lists, bodies are texts. */
export function powerShellJson(answers: readonly SyntheticAnswer[]): string {
  const entries = answers.map((answer) => ({
    RequestUri: answer.path,
    EncodedRequestUri: Buffer.from(answer.path).toString('base64'),
    RequestMethod: answer.method ?? 'GET',
    RequestHeaders: {},
    RequestBody: textOf(answer.requestBody),
    ResponseHeaders: listed(headersOf(answer)),
    ResponseBody: textOf(answer.body),
    StatusCode: answer.status ?? 200,
  }));
  return JSON.stringify({ Entries: entries, Names: {}, Variables: {} });
}

/** The base64 of a compressed body, as recorders keep what they cannot show as text. */
export function compressed(body: object): string {
  return gzipSync(JSON.stringify(body)).toString('base64');
}

/** A folder with these files. */
export function recordingsIn(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
