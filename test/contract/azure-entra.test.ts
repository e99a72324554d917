/** What Entra ID says besides a wrong secret, to the real credential: each is one sentence, and passing trouble is told from a mistake. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { createServerTls, type ServerTls } from '../../world/simulator/base/tls.ts';
import { meet } from '../azure/meeting.ts';

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

let [tls, server, base]: [ServerTls | undefined, Server | undefined, string] = [undefined, undefined, ''];
let respond: Respond = () => undefined;

beforeAll(async () => {
  tls = await createServerTls(Date.now());
  const made = createServer({ cert: tls.certPem, key: tls.keyPem }, (request, response) => respond(request, response));
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const address = made.address();
  base = `https://localhost:${typeof address === 'object' ? address?.port : ''}`;
  server = made;
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Where the endpoints are is answered as usual, a token is not given. */
function tokens(answer: Respond): Respond {
  return (request, response) => {
    if (request.method !== 'GET') return answer(request, response);
    const tenant = `${base}/tenant`;
    const endpoints = { token_endpoint: `${tenant}/oauth2/v2.0/token`, authorization_endpoint: `${tenant}/authorize` };
    return json(response, 200, { ...endpoints, issuer: `${tenant}/v2.0`, jwks_uri: `${tenant}/keys` });
  };
}

const refuses = (code: number, words: string): Respond =>
  tokens((_request, response) => {
    const error_description = `AADSTS${code}: ${words} Trace ID: 1-2 Correlation ID: 3-4 Timestamp: 2026-01-01 00:00:00Z`;
    json(response, 400, { error: 'invalid_client', error_description, error_codes: [code], trace_id: '1-2', correlation_id: '3-4' });
  });

const page: Respond = (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<html>Sign in</html>');
};

async function refusal(): Promise<AutoscalerError> {
  const ca = tls === undefined ? {} : { caPem: tls.caPem };
  const thrown: unknown = await meet({ authorityHost: base, ...ca }).catch((error: unknown) => error);
  if (thrown instanceof AutoscalerError) return thrown;
  throw new Error('the start was meant to be refused');
}

describe('what Entra ID answers', () => {
  it.each<[string, Respond, 'auth' | 'unavailable', RegExp]>([
    [
      'the application is disabled',
      refuses(7000112, "Application 'x'(y) is disabled."),
      'auth',
      /disabled in this tenant \(AADSTS7000112\)/,
    ],
    ['no such resource', refuses(500011, 'The resource principal named https://x was not found.'), 'auth', /azure\.cloud, azure\.scopes/],
    ['a policy forbids it', refuses(53003, 'Access has been blocked by Conditional Access policies.'), 'auth', /Conditional Access policy/],
    [
      'an unknown code',
      refuses(90099, 'The application has no consent.'),
      'auth',
      /returned "The application has no consent" \(AADSTS90099\)/,
    ],
    ['too many requests of one client', refuses(50196, 'A client request loop.'), 'unavailable', /temporary problem \(AADSTS50196\)/],
    ['a token without an end', tokens((_, response) => json(response, 200, { token_type: 'Bearer' })), 'auth', /the response has no token/],
    ['a page for people', page, 'unavailable', /is another service; check the authority host/],
  ])('%s', async (_what, answer, kind, sentence) => {
    respond = answer;
    const error = await refusal();
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(sentence);
    expect(error.message).toMatch(/^Cannot sign in to Azure for [^\n]+\.$/);
    expect(error.message).not.toMatch(/trace id|timestamp|correlation/i);
  });
});
