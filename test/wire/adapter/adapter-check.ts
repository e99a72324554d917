/**
 * What the daemon makes of a recorded answer: its own pipeline, mapping and parsers read it. Findings name what they misread or do not
 * know. Must not know the world.
 */
import { flatten, jsonOf, readErrorBody } from '../../../src/azure/arm/error-bodies.ts';
import { classifyRefusal, refusalOf } from '../../../src/azure/arm/error-table.ts';
import { acceptedOperation } from '../../../src/azure/arm/errors.ts';
import { readOperation } from '../../../src/azure/arm/operations.ts';
import { OPERATIONS } from '../../../src/azure/arm/call-list.ts';
import { remainingTokens } from '../../../src/azure/arm/rate-limits.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import type { Findings } from '../finding.ts';
import type { Interaction } from '../recordings/interaction.ts';
import type { WireCall } from '../recordings/wire-call.ts';
import { isOperationWord } from './known-words.ts';
import { freshLimits, NEVER, operationOf, replay, type ReplayedAzure } from './replayed-azure.ts';
import { checkResources } from './resource-checks.ts';
import { isRecord } from '../../../src/lib/json.ts';

export interface JudgedAnswer {
  readonly interaction: Interaction;
  readonly call: WireCall;
  /** The kind of call and its status. */
  readonly route: string;
}

/** Notes one thing about this answer, by names alone. */
export type Note = (what: string) => void;

/** Never rejects: whatever the daemon throws is a finding. */
export async function checkAnswer(answer: JudgedAnswer, findings: Findings): Promise<void> {
  const note: Note = (what) => findings.add('daemon', answer.route, what, answer.interaction);
  findings.noteAnswer(answer.route);
  const azure = replay(answer.interaction);
  try {
    checkLimits(answer, note);
    if (answer.interaction.status >= 400) await checkRefusal(answer, azure, note);
    else await checkAccepted(answer, azure, note);
  } catch (thrown) {
    note(`the daemon throws ${nameOf(thrown)}`);
  }
}

/** Without the message, which may quote the recording. */
function nameOf(thrown: unknown): string {
  if (thrown instanceof AutoscalerError) return `${thrown.kind}${thrown.code === undefined ? '' : ` ${thrown.code}`}`;
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

async function checkAccepted(answer: JudgedAnswer, azure: ReplayedAzure, note: Note): Promise<void> {
  const { interaction, call } = answer;
  switch (call.kind) {
    case 'getOperation':
    case 'getOperationResult':
      return checkOperation(answer, azure, note);
    case 'putScaleSet':
    case 'putAgentPool':
    case 'deleteInstances':
    case 'deleteMachines':
      await azure.send({ operation: call.kind, resource: resourceOf(call) });
      checkAcceptance(interaction, note);
      // The document of a write is read as that of a GET.
      return checkResources(answer, replay({ ...interaction, status: 200 }), note);
    default:
      return checkResources(answer, azure, note);
  }
}

/** What the daemon follows. A final answer has no operation. */
function checkAcceptance({ status, headers, dateMs }: Interaction, note: Note): void {
  const { operationUrl } = acceptedOperation((name) => headers.get(name), dateMs ?? 0);
  if (operationUrl === undefined && status === 202) note('no operation can be followed: neither azure-asyncoperation nor location');
  if (operationUrl !== undefined && !URL.canParse(operationUrl)) note('the address of the operation cannot be parsed');
}

async function checkOperation({ interaction, call }: JudgedAnswer, azure: ReplayedAzure, note: Note): Promise<void> {
  const { bodyAsText } = await azure.calls.run({ operation: 'getOperation', resource: '' }, NEVER, () =>
    azure.clients.getRaw(interaction.uri.href),
  );
  const end = readOperation(interaction.status, bodyAsText ?? '', {});
  const document = jsonOf(interaction.body);
  if (call.kind === 'getOperationResult' && interaction.status !== 202 && end === undefined)
    note('the result of an operation is not read as its end');
  if (!isRecord(document) || call.kind === 'getOperationResult') return;
  const word = document['status'];
  if (typeof word !== 'string') note('an operation has no status');
  else if (!isOperationWord(word)) note(`unknown word for the state of an operation: ${withoutNumbers(word)}`);
  if (end?.kind === 'failed') checkCode(document['error'], undefined, note);
}

/** AKS has been seen to count nodes in the word itself (azure-service-operator, 2026). */
function withoutNumbers(word: string): string {
  return word.replaceAll(/\d+/g, 'N');
}

async function checkRefusal({ interaction, call }: JudgedAnswer, azure: ReplayedAzure, note: Note): Promise<void> {
  // The authentication policy answers a 401.
  if (interaction.status !== 401) {
    const thrown = await azure.send({ operation: operationOf(call.kind), resource: resourceOf(call) }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(thrown instanceof AutoscalerError)) throw thrown;
    if (thrown.kind === 'unavailable' && interaction.status < 500) note(`a refusal is read as an outage: ${thrown.code ?? 'no code'}`);
  }
  checkCode(jsonOf(interaction.body), interaction.status, note);
}

/** Whether the table of codes knows one of the codes or texts, without help from the status. */
function checkCode(error: unknown, status: number | undefined, note: Note): void {
  const body = readErrorBody(error);
  const codes = flatten(body).flatMap(({ code }) => (code === '' ? [] : [code]));
  const { detail } = classifyRefusal(refusalOf(body, { status: undefined, write: false, retryAfterMs: undefined, hints: {} }));
  if (detail.kind !== 'unavailable') return;
  // A 4xx is classified by its status; the end of an operation has none.
  const how = status === undefined ? 'unknown error code of a failed operation' : 'error code known by its status alone';
  if (status === undefined || status !== 404) note(`${how}: ${codes.length === 0 ? 'none' : [...new Set(codes)].join(' > ')}`);
}

const FAMILIES = [...new Set(Object.values(OPERATIONS).map(({ family }) => family))];

function checkLimits({ interaction }: JudgedAnswer, note: Note): void {
  const read = remainingTokens((name) => interaction.headers.get(name));
  for (const { policy } of read) if (!isKnownPolicy(policy)) note(`unknown rate limit: ${policy}`);
  const prefix = 'x-ms-ratelimit-remaining-';
  for (const name of interaction.headers.keys()) {
    const policy = name.slice(prefix.length);
    if (!name.startsWith(prefix) || policy === 'resource' || read.some((each) => each.policy === policy)) continue;
    note(`unknown rate-limit header: ${name}`);
  }
}

const known = new Map<string, boolean>();

/** Whether a family of the daemon's calls slows down for it. Those of the gateway count all reads, writes or deletes. */
function isKnownPolicy(policy: string): boolean {
  const before = known.get(policy);
  if (before !== undefined) return before;
  const limits = freshLimits();
  limits.recordHeaders({ operation: 'getOperation', resource: '' }, (name) =>
    name === 'x-ms-ratelimit-remaining-resource' ? `Microsoft.Compute/${policy};1` : undefined,
  );
  const isKnown = policy.startsWith('subscription-') || FAMILIES.some((family) => limits.remainingCallsOf(family) !== undefined);
  known.set(policy, isKnown);
  return isKnown;
}

/** What the rate limit of the call is counted for. */
function resourceOf({ names }: WireCall): string {
  return names['set'] ?? names['pool'] ?? names['vm'] ?? names['cluster'] ?? '';
}
