/** Reads error bodies of ARM: with the `error` wrapper, without it (AKS), nested, or no JSON at all. Takes no decisions. */

/** One error object, its inner ones included, everything optional decided. */
export interface ArmErrorBody {
  /** Empty when the body named none. */
  readonly code: string;
  readonly message: string;
  readonly target: string;
  readonly details: readonly ArmErrorBody[];
}

export const NO_BODY: ArmErrorBody = { code: '', message: '', target: '', details: [] };
/** Nobody nests deeper; a hostile body must not. */
const MAX_DEPTH = 6;

type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text as JSON, or undefined. */
export function jsonOf(text: string | null | undefined): unknown {
  try {
    return text === null || text === undefined || text === '' ? undefined : JSON.parse(text);
  } catch {
    // Not JSON is an expected form: gateways answer HTML. The caller goes by the status alone.
    return undefined;
  }
}

/** Accepts the whole answer (`{error: {...}}` or `{code, message}`) or the error object itself. */
export function readErrorBody(body: unknown, depth = 0): ArmErrorBody {
  if (!isRecord(body) || depth > MAX_DEPTH) return NO_BODY;
  if (isRecord(body['error'])) return readErrorBody(body['error'], depth + 1);
  const listed = Array.isArray(body['details']) ? body['details'] : [];
  const inner = [body['innererror'], body['innerError']].filter(isRecord);
  const details = [...listed, ...inner].map((child) => readErrorBody(child, depth + 1)).filter((child) => child !== NO_BODY);
  return {
    code: text(body['code']) || text(body['internalErrorCode']),
    message: text(body['message']) || text(body['exceptiondetail']),
    target: text(body['target']),
    details,
  };
}

/** The error and everything inside it, outermost first. */
export function flatten(body: ArmErrorBody): readonly ArmErrorBody[] {
  return [body, ...body.details.flatMap(flatten)];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
