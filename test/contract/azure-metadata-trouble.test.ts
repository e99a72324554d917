/** A metadata endpoint that answers, and gives no token: a mistake is told from trouble of its own. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { meet } from '../azure/meeting.ts';

const VARIABLE = 'AZURE_POD_IDENTITY_AUTHORITY_HOST';
let server: Server | undefined;
let respond: (response: ServerResponse) => void = () => undefined;

beforeAll(async () => {
  const made = createServer((_request, response) => respond(response));
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const address = made.address();
  process.env[VARIABLE] = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  server = made;
});
afterAll(() => {
  delete process.env[VARIABLE];
  server?.closeAllConnections();
  server?.close();
});

const answers = (status: number, body: object, retryAfter?: string) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json', ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) });
  response.end(JSON.stringify(body));
};

describe('the metadata endpoint of a machine', () => {
  it.each<[string, (response: ServerResponse) => void, 'auth' | 'unavailable', RegExp]>([
    [
      'a way in between that drops headers',
      answers(400, { error: 'invalid_request', error_description: 'Required metadata header not specified' }),
      'auth',
      /refuses a token \("Required metadata header not specified"\)/,
    ],
    [
      'a network that may not',
      answers(403, { error: 'forbidden', error_description: 'unreachable network' }),
      'auth',
      /unreachable network/,
    ],
    ['an answer without a token', answers(200, {}), 'auth', /the response has no token/],
    [
      'too many who ask',
      answers(429, { error: 'too_many_requests' }, '0'),
      'unavailable',
      /temporary problem \("too_many_requests"\); the sign-in will be tried again/,
    ],
  ])('%s', async (_what, answer, kind, sentence) => {
    respond = answer;
    const thrown: unknown = await meet({ credential: { method: 'managed-identity', clientId: undefined } }).catch(
      (error: unknown) => error,
    );
    if (!(thrown instanceof AutoscalerError)) throw new Error('the start was meant to be refused');
    expect(thrown.message).toMatch(sentence);
    expect(thrown.kind).toBe(kind);
    expect(thrown.message).toMatch(/^Cannot sign in to Azure for [^\n]+\.$/);
  });
});
