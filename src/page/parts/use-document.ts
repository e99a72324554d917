/** Documents of the API as state of a component. */
import { useEffect, useState } from 'preact/hooks';
import { withSameParts } from './same-parts.ts';
import { type Refusal, readDocument } from './api-client.ts';

export interface Reading<Document> {
  /** The last that was read. It stays while a newer one is read. */
  readonly document: Document | undefined;
  readonly refusal: Refusal | undefined;
}

/** Reads when `path` or `key` changes. undefined: reads nothing. */
export function useDocument<Document>(path: string | undefined, key: unknown): Reading<Document> {
  const [reading, setReading] = useState<Reading<Document> & { readonly path?: string | undefined }>({
    document: undefined,
    refusal: undefined,
  });
  useEffect(() => {
    if (path === undefined) return;
    const stop = new AbortController();
    void readDocument<Document>(path, stop.signal).then((answer) => {
      if (stop.signal.aborted) return;
      if ('document' in answer)
        setReading((before) => ({ document: withSameParts(before.document, answer.document), refusal: undefined, path }));
      else setReading((before) => ({ document: before.path === path ? before.document : undefined, refusal: answer.refusal, path }));
    });
    return () => stop.abort();
  }, [path, key]);
  return reading;
}
