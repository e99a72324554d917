/** Holds the world's answers and the daemon's requests against Azure's published documents. */
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import { Findings, type Finding } from '../finding.ts';
import { wireCallOf } from '../recordings/wire-call.ts';
import type { WorldAnswer } from '../world/world-client.ts';
import { SchemaCheck } from './schema-check.ts';
import { daemonRequests, type SentRequest } from './daemon-requests.ts';
import { Specifications, type Located, type SpecifiedOperation } from './specifications.ts';
import { isRecord } from '../../../src/lib/json.ts';

export interface SpecSummary {
  /** Documents of our versions. */
  readonly documents: number;
  /** Answers of the world, and requests of the daemon. */
  readonly answers: number;
  readonly requests: number;
}

/** The versions that the daemon sends. */
const VERSIONS = new Set(['2026-04-01', '2026-06-01', '2021-07-01']);

/** Documents that cannot be read are a finding. @throws Error if the folder cannot be listed. */
export async function judgeSpecifications(
  folder: string,
  examples: () => Promise<readonly WorldAnswer[]>,
): Promise<SpecSummary & { readonly findings: readonly Finding[] }> {
  const [answers, requests] = [await examples(), await daemonRequests()];
  const findings = new Findings();
  let documents = 0;
  try {
    const specifications = new Specifications(folder, VERSIONS);
    documents = specifications.size;
    if (documents === 0) throw new Error(`no document of the versions ${[...VERSIONS].join(', ')}`);
    checkSpecifications(specifications, { answers, requests }, findings);
  } catch (thrown) {
    if (!(thrown instanceof Error) || 'syscall' in thrown) throw thrown;
    findings.add('form', 'documents', `cannot be read: ${thrown.message}`, { file: folder, index: 0 });
  }
  return { documents, answers: answers.length, requests: requests.length, findings: findings.list() };
}

export function checkSpecifications(
  specifications: Specifications,
  { answers, requests }: { readonly answers: readonly WorldAnswer[]; readonly requests: readonly SentRequest[] },
  findings: Findings,
): void {
  for (const [index, answer] of answers.entries()) checkAnswer(specifications, answer, index, findings);
  for (const [index, request] of requests.entries()) checkRequest(specifications, request, index, findings);
}

function checkAnswer(specifications: Specifications, answer: WorldAnswer, index: number, findings: Findings): void {
  const call = wireCallOf(answer);
  const found = call === undefined ? undefined : specifications.find(answer.method, answer.uri);
  // Operations have addresses that no document names. An address that it should name is noted for the daemon's requests.
  if (call === undefined || found === undefined) return;
  const route = `${call.kind} ${answer.status}`;
  const where = { file: 'answer of the world', index };
  findings.noteAnswer(route);
  const response = responseOf(specifications, found, answer.status);
  if (response === undefined) findings.add('form', route, 'the world answers with a status that is not documented', where);
  else for (const what of bodyFindings(specifications, answer.body, response)) findings.add('form', route, `in the world ${what}`, where);
}

function bodyFindings(specifications: Specifications, body: string, response: Located): readonly string[] {
  const schema = response.node['schema'];
  const document = jsonOf(body);
  if (!isRecord(schema)) return document === undefined ? [] : ['body is not documented'];
  if (document === undefined) return ['body is missing'];
  return new SchemaCheck(specifications, 'response').check(document, { node: schema, file: response.file });
}

/** `default` documents errors. */
function responseOf(specifications: Specifications, { operation }: SpecifiedOperation, status: number): Located | undefined {
  const responses = operation.node['responses'];
  if (!isRecord(responses)) return undefined;
  const response = responses[String(status)] ?? (status >= 400 ? responses['default'] : undefined);
  return isRecord(response) ? specifications.resolve({ node: response, file: operation.file }) : undefined;
}

function checkRequest(specifications: Specifications, { method, uri, body }: SentRequest, index: number, findings: Findings): void {
  const kind = wireCallOf({ method, uri })?.kind ?? `${method} ${uri.pathname}`;
  if (kind.startsWith('getOperation')) return;
  const where = { file: 'request of the daemon', index };
  findings.noteAnswer(kind);
  const found = specifications.find(method, uri);
  if (found === undefined) {
    findings.add(
      'daemon',
      kind,
      `the daemon sends a request that version ${uri.searchParams.get('api-version') ?? 'none'} does not document`,
      where,
    );
    return;
  }
  const schema = bodySchemaOf(specifications, found);
  if (body === undefined) return;
  if (schema === undefined) findings.add('daemon', kind, 'the daemon sends a body that is not documented', where);
  else
    for (const what of new SchemaCheck(specifications, 'request').check(body, schema))
      findings.add('daemon', kind, `in the daemon's request ${what}`, where);
}

function bodySchemaOf(specifications: Specifications, { operation: { node, file } }: SpecifiedOperation): Located | undefined {
  const parameters = Array.isArray(node['parameters']) ? node['parameters'].filter(isRecord) : [];
  const resolved = parameters.map((each) => specifications.resolve({ node: each, file }));
  const body = resolved.find((each) => each.node['in'] === 'body');
  const schema = body?.node['schema'];
  return body !== undefined && isRecord(schema) ? { node: schema, file: body.file } : undefined;
}
