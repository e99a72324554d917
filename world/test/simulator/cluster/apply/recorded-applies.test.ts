/**
 * A session of server-side applies and other writes, recorded from a real API server (Kubernetes 1.35), is repeated with the simulated one: the
 * same managers, the same refusals, word by word. Times differ.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStage, type Stage } from '../stage.ts';

interface RecordedCall {
  readonly note: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly contentType?: string;
  readonly sent?: unknown;
  readonly status: number;
  readonly message?: string;
  readonly causes?: unknown;
  readonly managers?: readonly unknown[];
}

const CALLS = JSON.parse(readFileSync(join(import.meta.dirname, 'recorded-applies.json'), 'utf8')) as readonly RecordedCall[];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.stop());

describe('a recorded session', () => {
  it.each(CALLS)('$note: $status', async ({ method, path, contentType, sent, status, message, causes, managers }) => {
    const reply = await stage.client.call(method, path, sent, contentType === undefined ? {} : { contentType });
    const entries = (reply.body['metadata']?.['managedFields'] ?? []) as unknown as readonly { readonly time?: string }[];
    const seen = {
      status: reply.status,
      ...(message === undefined ? {} : { message: reply.body['message'] }),
      ...(causes === undefined ? {} : { causes: reply.body['details']?.['causes'] }),
      ...(managers === undefined ? {} : { managers: entries.map(({ time: _differs, ...entry }) => entry) }),
    };
    const expected = {
      status,
      ...(message === undefined ? {} : { message }),
      ...(causes === undefined ? {} : { causes }),
      ...(managers === undefined ? {} : { managers }),
    };
    expect(seen).toEqual(expected);
  });
});
