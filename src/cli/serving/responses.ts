/** The API and the page as HTTP responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api } from '../../api/served/api.ts';
import { sendDocument } from '../../api/served/http-documents.ts';
import type { ApiReply } from '../../api/served/routes.ts';
import type { Page } from './page-file.ts';

const JSON_TYPE = 'application/json';
const TOO_MANY_RETRY_SECONDS = 10;

export async function sendReply(request: IncomingMessage, response: ServerResponse, reply: ApiReply): Promise<void> {
  const { status, document, retryAfterSeconds } = reply;
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  await sendDocument(request.headers, response, { status, type: JSON_TYPE, text: `${JSON.stringify(document)}\n`, headers });
}

/** Keeps the response open until the caller closes it. */
export function sendEvents(request: IncomingMessage, response: ServerResponse, api: Pick<Api, 'stream'>): void {
  const last = request.headers['last-event-id'];
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  const target = {
    write: (text: string) => {
      if (!response.headersSent) response.writeHead(200, headers);
      return response.write(text);
    },
    end: () => void response.end(),
    destroy: () => void response.destroy(),
    get writableLength() {
      return response.writableLength;
    },
    on: (event: 'close', listener: () => void) => response.on(event, listener),
  };
  if (request.method === 'GET' && api.stream(target, typeof last === 'string' ? last : undefined)) return;
  const text = `${JSON.stringify({ message: 'there are ten streams already; close another page' })}\n`;
  response.writeHead(503, { 'content-type': JSON_TYPE, 'retry-after': String(TOO_MANY_RETRY_SECONDS) }).end(text);
}

/** @param page undefined: this build does not contain it. */
export async function sendPage(request: IncomingMessage, response: ServerResponse, page: Page | undefined): Promise<void> {
  if (page === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('this build does not contain the page; /api/v1 has its data\n');
    return;
  }
  const headers = { 'content-security-policy': page.policy, 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' };
  await sendDocument(request.headers, response, { status: 200, type: 'text/html; charset=utf-8', text: page.html, headers });
}
