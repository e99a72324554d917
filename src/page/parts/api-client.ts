/** Reads `/api/v1`: single documents, and the stream of changes. Must not know what is shown. */
import { storedToken } from './browser.ts';

/** What went wrong, in the words of the daemon. */
export type Refusal =
  | { readonly kind: 'standby'; readonly message: string; readonly leader?: string; readonly command?: string }
  | { readonly kind: 'starting'; readonly retryMs: number }
  | { readonly kind: 'token' }
  | { readonly kind: 'refused' | 'missing'; readonly message: string }
  /** No daemon answers. */
  | { readonly kind: 'lost' };

export type Answer<Document> = { readonly document: Document; readonly nowMs: number | undefined } | { readonly refusal: Refusal };

export async function readDocument<Document>(path: string, signal?: AbortSignal): Promise<Answer<Document>> {
  try {
    const response = await fetch(`api/v1/${path}`, { headers: authorization(), ...(signal === undefined ? {} : { signal }) });
    if (!response.ok) return { refusal: await refusalIn(response) };
    const nowMs = Date.parse(response.headers.get('date') ?? '');
    return { document: (await response.json()) as Document, nowMs: Number.isNaN(nowMs) ? undefined : nowMs };
  } catch {
    return { refusal: { kind: 'lost' } };
  }
}

function authorization(): Record<string, string> {
  const token = storedToken();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function refusalIn(response: Response): Promise<Refusal> {
  const text = await response.text();
  const { message = text, ...rest } = parsed(text);
  if (response.status === 401) return { kind: 'token' };
  if (response.status === 409) return { kind: 'standby', message, ...rest };
  if (response.status === 404) return { kind: 'missing', message };
  if (response.status === 503) return { kind: 'starting', retryMs: Number(response.headers.get('retry-after') ?? 2) * 1000 };
  return { kind: 'refused', message };
}

function parsed(text: string): { readonly message?: string; readonly leader?: string; readonly command?: string } {
  try {
    return JSON.parse(text) as { readonly message: string };
  } catch {
    return {};
  }
}

export interface StreamEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: unknown;
}

/**
 * Calls back for each event until the stream ends. EventSource cannot send a token. @returns why it did not begin; undefined: it began
 * and has ended.
 */
export async function followEvents(
  lastId: string | undefined,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  try {
    const headers = { ...authorization(), ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
    const response = await fetch('api/v1/events', { headers, signal });
    if (!response.ok || response.body === null) return await refusalIn(response);
    let rest = '';
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const blocks = `${rest}${part.value}`.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) onEvent(eventIn(block));
    }
    return undefined;
  } catch {
    return { kind: 'lost' };
  }
}

function eventIn(block: string): StreamEvent {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]));
  return { event: fields.get('event') ?? '', id: fields.get('id'), data: JSON.parse(fields.get('data') ?? 'null') };
}
